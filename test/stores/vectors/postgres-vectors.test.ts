import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith } from "../../support/services.ts";
import { joined } from "./joined.ts";
import { findMutants, runDamaged, runJoined, runVectors, type Mutant } from "./run.ts";
import { statements } from "../../../packages/ichido/src/stores/postgres/statements.generated.ts";
import { unseenInSql } from "./unseen-flips.ts";
import { findFlips, type Edit, type Rule } from "./flips.ts";
import { functions, postgresServer, type PostgresServer } from "./postgres-bed.ts";

const mutants: readonly Mutant[] = [
  { title: "a lease that ends now is live", from: "r.lease_until > moment and", to: "r.lease_until >= moment and" },
  { title: "the bound of a lease is absurd", from: "r.lease_until <= moment +", to: "r.lease_until < moment +" },
  { title: "retention ends a moment later", from: "r.expires_at <= moment then", to: "r.expires_at < moment then" },
  { title: "a doubt does not stay", from: "r.doubt_stays or doubtful or live", to: "doubtful or live" },
  {
    title: "a living owner's record expires",
    from: "r.doubt_stays or doubtful or live",
    to: "r.doubt_stays or doubtful",
  },
  { title: "a started step expires", from: "(r.steps_started = 0\n", to: "(true\n" },
  {
    title: "the hash of a newer version is not known",
    from: "or coalesce(r.fingerprint_former = canonicals[i], false)",
    to: "",
  },
  { title: "an owner gets back what it left in doubt", from: "and (live or not doubtful) then", to: "then" },
  { title: "a hold is taken", from: "when r.hold_reason is not null then 'unknown'", to: "" },
  { title: "an interim answer is taken by any takeover", from: "takeovers[i] = 'open'", to: "takeovers[i] <> 'none'" },
  { title: "a lapsed record is taken by none", from: "when takeovers[i] = 'none' then 'unknown'", to: "" },
  { title: "a takeover keeps a fence that is ahead", from: "greatest(r.fence + 1,", to: "greatest(r.fence," },
  { title: "a takeover forgets that a doubt stays", from: "r.doubt_stays or stays[i]", to: "stays[i]" },
  { title: "a resent claim is told another origin", from: "held_origin := r.origin", to: "held_origin := taken" },
  {
    title: "ticks may stop for longer",
    from: "and t.interval_ms * interval '3 ms'",
    to: "and t.interval_ms * interval '4 ms'",
    by: "uneven ticks",
  },
  {
    title: "a completion needs no fence",
    from: "and r.owner = owners[i] and r.fence = fences[i]\n",
    to: "and r.owner = owners[i]\n",
    by: "owners",
  },
  { title: "a crowd is given what is past its retention", from: "and s.expires_at > moment", to: "" },
  { title: "a crowd is given the answer to other bytes", from: "and s.fingerprint_raw = a.raw", to: "" },
  {
    title: "a crowd's completion needs no fence",
    from: "and (r.owner, r.fence) is not distinct from (a.owner, a.fence) and",
    to: "and r.owner = a.owner and",
    by: "owners",
  },
  {
    title: "a step revives an ended lease",
    from: "case when r.lease_until is not null then clock_timestamp()",
    to: "case when true then clock_timestamp()",
    by: "owners",
  },
  {
    title: "a finished step is started again",
    from: "  where s.finished_at is null;\n  return true;",
    to: "  ;\n  return true;",
    by: "owners",
  },
  { title: "a policy settles a hold", from: "unless_held and r.hold_reason is not null", to: "false", by: "owners" },
  {
    title: "a settlement looks at no fence",
    from: "elsif r.fence <> of_fence then",
    to: "elsif false then",
    by: "owners",
  },
  {
    title: "a release forgets finished steps",
    from: "and s.life = r.life and s.finished_at is null;",
    to: "and s.life = r.life;",
    by: "owners",
  },
];

const joinedMutants: readonly Mutant[] = [
  {
    title: "a claim on a transaction has a shorter retention",
    from: "moment, moment, moment + retention_ms",
    to: "moment, moment, moment - retention_ms",
  },
  {
    title: "an answer on a transaction needs no fence",
    from: "and r.owner = of_owner and r.fence = of_fence\n    and r.state = 'processing'",
    to: "and r.owner = of_owner\n    and r.state = 'processing'",
    by: "owners",
  },
  {
    title: "an answer on a transaction leaves the hold",
    from: "lease_until = null, hold_reason = null,\n    response_kind = of_kind",
    to: "lease_until = null,\n    response_kind = of_kind",
    by: "owners",
  },
];

const lastMutants: readonly Mutant[] = [
  {
    title: "an answer with COMMIT needs no owner",
    from: "and r.owner = of_owner and r.fence = of_fence\n    and r.state = 'processing'",
    to: "and r.fence = of_fence\n    and r.state = 'processing'",
    by: "owners",
  },
  {
    title: "an answer with COMMIT is committed although stale",
    from: "  if is_last then\n    raise exception",
    to: "  if false then\n    raise exception",
    by: "owners",
  },
];

type Asked = Pick<Rule, "name" | "verbs" | "views">;

const askedFunctions: readonly Asked[] = [
  { name: "claim", verbs: ["claim"] },
  { name: "complete", verbs: ["complete"] },
  { name: "step", verbs: ["startStep", "finishStep"] },
  { name: "settle", verbs: ["settle"] },
  { name: "forget", verbs: ["forget"] },
];
const askedStatements: readonly (Asked & { readonly name: keyof typeof statements })[] = [
  { name: "renew", verbs: ["renew"] },
  { name: "release", verbs: ["release"] },
  { name: "suspend", verbs: ["suspend"] },
  { name: "landed", verbs: ["landed"] },
  { name: "tick", views: ["ticks"] },
  { name: "sweep", views: ["sweeps"] },
];

function functionNamed(name: string): string {
  return functions.find((text) => text.startsWith(`create or replace function {prefix}${name}(`)) ?? "";
}

describeWith("postgres", "PostgreSQL by the record machine", (url) => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await postgresServer(url);
  });
  afterAll(() => server.close());

  runVectors({ test, expect }, () => server.bed("vectors_"));
  runDamaged({ test, expect }, () => server.bed("vectors_"));
  findMutants({ test, expect }, mutants, (edit) => server.bed("mutant_", edit));

  const joinedBed = async (last: boolean, edit?: (sql: string) => string) =>
    joined(await server.bed(edit === undefined ? "vectors_" : "mutant_", edit), {
      runner: server.runner,
      last,
      bornInDoubt: true,
    });
  runJoined({ test, expect }, [
    { title: "claims and answers on a transaction", verbs: ["claim", "complete"], open: () => joinedBed(false) },
    { title: "answers that travel with COMMIT", verbs: ["complete"], open: () => joinedBed(true) },
  ]);
  findMutants({ test, expect }, joinedMutants, (edit) => joinedBed(false, edit));
  findMutants({ test, expect }, lastMutants, (edit) => joinedBed(true, edit));

  const alone = (edit: Edit) => server.bed("flip_", edit);
  const onTransaction = [false, true].map((last) => (edit: Edit) => joinedBed(last, edit));
  const rules: readonly Rule[] = [
    ...askedFunctions.map((each): Rule => ({
      ...each,
      text: functionNamed(each.name),
      language: "sql",
      beds: [alone],
    })),
    ...askedStatements.map((each): Rule => ({ ...each, text: statements[each.name], language: "sql", beds: [alone] })),
    {
      name: "claim_new",
      text: functionNamed("claim_new"),
      language: "sql",
      verbs: ["claim"],
      beds: onTransaction.slice(0, 1),
    },
    {
      name: "complete_one",
      text: functionNamed("complete_one"),
      language: "sql",
      verbs: ["complete"],
      beds: onTransaction,
    },
    { name: "landed_within", text: functionNamed("landed_within"), language: "sql", verbs: ["landed"], beds: [alone] },
  ];
  findFlips({ test, expect }, rules, unseenInSql);
});
