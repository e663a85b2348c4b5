import { expect, test } from "vitest";
import { describeWith, uniqueName } from "../../support/services.ts";
import { statements } from "../../../packages/ichido/src/stores/redis/statements.generated.ts";
import { unseenInLua } from "./unseen-flips.ts";
import { findFlips, type Rule } from "./flips.ts";
import { redisBed } from "./redis-bed.ts";
import { findMutants, runDamaged, runVectors, type Mutant } from "./run.ts";

const mutants: readonly Mutant[] = [
  { title: "a lease that ends now is live", from: "leaseEnd > now", to: "leaseEnd >= now" },
  { title: "the bound of a lease is absurd", from: "leaseEnd <= now +", to: "leaseEnd < now +" },
  { title: "retention ends a moment later", from: "if expires <= now and", to: "if expires < now and" },
  { title: "a doubt does not stay", from: "not (stays or doubtful or live)", to: "not (doubtful or live)" },
  { title: "a started step expires", from: "(steps == 0 and (state == 'f'", to: "((state == 'f'" },
  { title: "the hash of a newer version is not known", from: " or former == ARGV[3]", to: "" },
  {
    title: "an owner gets back what it left in doubt",
    from: "row[3] == owner and (live or not doubtful)",
    to: "row[3] == owner",
  },
  { title: "a hold is taken", from: "doubtful and not row[10] and takeover", to: "doubtful and takeover" },
  { title: "a lapsed record is taken by none", from: "not doubtful and takeover ~= 'none'", to: "not doubtful" },
  {
    title: "a takeover keeps a fence that is ahead",
    from: "math.max(tonumber(fence) + 1, now)",
    to: "math.max(tonumber(fence), now)",
  },
  {
    title: "a takeover forgets that a doubt stays",
    from: "stays = stays or ARGV[14] == '1'",
    to: "stays = ARGV[14] == '1'",
  },
  {
    title: "a takeover leaves the record a time to live",
    from: "  if stays then\n    redis.call('PERSIST', KEYS[1])",
    to: "  if stays then",
  },
  { title: "ticks may stop for longer", from: "now - last <= gap", to: "now - last <= gap + 1", by: "uneven ticks" },
  { title: "a sweep asks for no even ticks", from: "now - steady < gap", to: "false", by: "views" },
  { title: "a sweep removes a doubt that stays", from: " or row[7] == '1')", to: ")", by: "views" },
  {
    title: "a sweep removes a step without a result",
    from: "if redis.call('HEXISTS', KEYS[1], 'F' .. at) == 0 then",
    to: "if false then",
    by: "views",
  },
  {
    title: "a completion needs no fence",
    from: "or row[3] ~= ARGV[2] or row[1] == 'f'",
    to: "or row[1] == 'f'",
    by: "owners",
  },
  { title: "a renewal revives an ended lease", from: "if row[8] == '0' then return 1 end", to: "", by: "owners" },
  {
    title: "a release ends a hold",
    by: "owners",
    from: "if row[6] then\n  redis.call('HSET', KEYS[1], 'l', '0'",
    to: "if false then\n  redis.call('HSET', KEYS[1], 'l', '0'",
  },
  { title: "a policy settles a hold", from: " or (ARGV[11] == '1' and row[8])", to: "", by: "owners" },
  { title: "a release forgets finished steps", from: "    if step[2] then", to: "    if false then", by: "owners" },
  {
    title: "a suspended record keeps its lease",
    from: "local write = { 'l', '0', 'u', now }",
    to: "local write = { 'u', now }",
    by: "owners",
  },
];

const asked: readonly (Pick<Rule, "verbs" | "views"> & { readonly name: keyof typeof statements })[] = [
  { name: "claim", verbs: ["claim"] },
  { name: "renew", verbs: ["renew"] },
  { name: "complete", verbs: ["complete"] },
  { name: "release", verbs: ["release"] },
  { name: "suspend", verbs: ["suspend"] },
  { name: "startStep", verbs: ["startStep"] },
  { name: "finishStep", verbs: ["finishStep"] },
  { name: "settle", verbs: ["settle"] },
  { name: "forget", verbs: ["forget"] },
  { name: "steps", verbs: ["startStep"] },
  { name: "audit", verbs: ["settle"] },
  { name: "tick", views: ["ticks"] },
  { name: "sweep", views: ["sweeps"] },
];

describeWith("redis", "Redis by the record machine", (url) => {
  runVectors({ test, expect }, () => redisBed(url, `${uniqueName("vectors")}:`));
  runDamaged({ test, expect }, () => redisBed(url, `${uniqueName("vectors")}:`));
  test("a record is forgotten only as it was looked at", async () => {
    const bed = await redisBed(url, `${uniqueName("vectors")}:`);
    expect(await bed.forgetEach?.()).toEqual([]);
    await bed.close();
  });
  findMutants({ test, expect }, mutants, (edit) => redisBed(url, `${uniqueName("mutant")}:`, edit));
  const rules = asked.map((each): Rule => ({
    ...each,
    text: statements[each.name],
    language: "lua",
    beds: [(edit) => redisBed(url, `${uniqueName("flip")}:`, edit)],
  }));
  findFlips({ test, expect }, rules, unseenInLua);
});
