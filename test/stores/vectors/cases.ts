/**
 * Vectors: every combination of what a record can be and what can be asked of it, at one moment. The record machine says
 * what must come of each; the stores are then asked.
 */
import type {
  Claim,
  ClaimRequest,
  ClaimResult,
  Fingerprint,
  ForgetRequest,
  Identity,
  Landed,
  OwnerToken,
  SettleRequest,
  Store,
  StoredResponse,
} from "ichido";
import { sampleIdentity, sampleOwner, sampleResponse } from "ichido/testing";
import { leaseAbsurdUs } from "../../../packages/ichido/src/core/record-machine/bounds.ts";
import {
  born,
  grantOf,
  held,
  isRefusal,
  judgeClaim,
  noted,
  refusalOf,
} from "../../../packages/ichido/src/core/record-machine/claim.ts";
import { forgetRefusal, forgotten, tombstoneOf } from "../../../packages/ichido/src/core/record-machine/forget.ts";
import * as owned from "../../../packages/ichido/src/core/record-machine/owned.ts";
import {
  toMs,
  type Moment,
  type StepRow,
  type WholeRecord,
} from "../../../packages/ichido/src/core/record-machine/record.ts";
import { settle } from "../../../packages/ichido/src/core/record-machine/settle.ts";

export const nowUs = 1_800_000_000_000_000;
const secondUs = 1_000_000;

const owner = sampleOwner("holder");
const stranger = sampleOwner("stranger");
export const interim: StoredResponse = sampleResponse({ status: 202, headers: [["x-wait", "1"]], body: "wait" });
export const answer: StoredResponse = sampleResponse({ status: 201, body: "first answer" });
export const lastAnswer: StoredResponse = sampleResponse({ status: 409, body: "last answer", kind: "tombstone" });

const hash = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const stored = { raw: hash(1), canonical: hash(2), former: hash(3) };

/** What a claim brings, against what is stored. The last three are other requests. */
const prints: Readonly<Record<string, Omit<Fingerprint, "version">>> = {
  raw: { raw: hash(1), canonical: hash(9) },
  canonical: { raw: hash(8), canonical: hash(2) },
  "asked by a newer version": { raw: hash(8), canonical: hash(9), former: hash(2) },
  "stored by a newer version": { raw: hash(8), canonical: hash(3) },
  other: { raw: hash(8), canonical: hash(9) },
  "other, alike by former versions alone": { raw: hash(8), canonical: hash(9), former: hash(3) },
  "other, crossed": { raw: hash(2), canonical: hash(1) },
};

/** At the bounds of the rules, to the microsecond. */
const leases: Readonly<Record<string, number>> = {
  "barely live": nowUs + 1,
  longest: nowUs + 60 * secondUs,
  "at the bound": nowUs + leaseAbsurdUs,
  lapsed: nowUs,
  ended: 0,
  absurd: nowUs + leaseAbsurdUs + 1,
};

const started: StepRow = {
  name: "pay",
  attempt: 2,
  startedUs: nowUs - 90 * secondUs,
  lastStartedUs: nowUs - 80 * secondUs,
  finishedUs: undefined,
  result: undefined,
};
const finished: StepRow = { ...started, name: "mail", finishedUs: nowUs - 70 * secondUs, result: hash(7) };
const stepSets: Readonly<Record<string, readonly StepRow[]>> = {
  none: [],
  unfinished: [started],
  finished: [finished],
  both: [finished, started],
};

const createdUs = nowUs - 900 * secondUs;
/** Long past: eight retentions ago, to the microsecond. */
const expiresUs = {
  before: nowUs + 1,
  past: nowUs,
  "nearly long past": createdUs + 112_500_001,
  "long past": createdUs + 112_500_000,
} as const;

export interface Arranged {
  readonly title: string;
  readonly record: WholeRecord | undefined;
}

const both = [false, true] as const;

/** Every record that verbs can leave behind, and some that only a clock or another program can. */
export function arrangements(
  expiries: readonly (keyof typeof expiresUs)[],
  steps: readonly string[],
): readonly Arranged[] {
  const found: Arranged[] = [{ title: "absent", record: undefined }];
  let index = 0;
  const add = (title: string, parts: Partial<WholeRecord>): void => {
    for (const expiry of expiries) {
      for (const step of steps) {
        for (const doubtStays of both) {
          index += 1;
          found.push({
            title: `${title}, ${expiry} expiry, steps ${step}${doubtStays ? ", doubt stays" : ""}`,
            record: {
              ...base(spread(index), spread(index + 5_000)),
              ...cameBy(spread(index + 9_000), spread(index + 14_000)),
              expiresUs: expiresUs[expiry],
              doubtStays,
              steps: stepSets[step] ?? [],
              stepsStarted: stepSets[step]?.length ?? 0,
              ...parts,
            },
          });
        }
      }
    }
  };
  for (const [name, leaseUs] of Object.entries(leases)) {
    for (const onHold of both) {
      for (const answered of both) {
        add(`processing, ${name}${onHold ? ", on hold" : ""}${answered ? ", interim" : ""}`, {
          leaseUs,
          ...(onHold && { holdReason: "ask the bank" }),
          ...(answered && { interim }),
        });
      }
    }
  }
  add("failed", { state: "failed", leaseUs: 0 });
  add("completed", { state: "completed", leaseUs: 0, response: answer });
  return found;
}

/** One bit of a number, with no pattern that the loops above could share. */
function spread(index: number): boolean {
  return (Math.imul(index, 0x9e3779b1) >>> 17) % 2 === 1;
}

/** As no claim since the first has it, or as a later one. */
function cameBy(first: boolean, failed: boolean): Pick<WholeRecord, "origin" | "attempts"> {
  if (first) return { origin: "new", attempts: 1 };
  return failed ? { origin: "failed", attempts: 3 } : { origin: "lapsed", attempts: 2 };
}

/** The fence of a clock that ran on, or of one that has gone back since. */
function base(ahead: boolean, former: boolean): WholeRecord {
  return {
    state: "processing",
    owner,
    origin: "failed",
    fence: ahead ? nowUs + 5 * secondUs : nowUs - 1_000 * secondUs,
    attempts: 3,
    fingerprint: former ? stored : { raw: stored.raw, canonical: stored.canonical },
    leaseUs: nowUs,
    stepsStarted: 0,
    doubtStays: false,
    createdUs,
    updatedUs: nowUs - 800 * secondUs,
    expiresUs: nowUs + 1,
    steps: [],
    audit: [],
    resources: [],
  };
}

export type Verb =
  | "claim"
  | "renew"
  | "complete"
  | "release"
  | "suspend"
  | "startStep"
  | "finishStep"
  | "settle"
  | "landed"
  | "forget";

export interface Vector {
  readonly title: string;
  readonly verb: Verb;
  readonly identity: Identity;
  readonly before: WholeRecord | undefined;
  /** What the machine says: the answer, and the record afterwards. */
  readonly result: unknown;
  readonly after: WholeRecord | undefined;
  apply(store: Store): Promise<unknown>;
}

const leaseMs = 45_000;
const retentionMs = 86_400_000;
const whose = sampleIdentity("");

interface Maker {
  readonly vectors: Vector[];
}

function add(maker: Maker, title: string, verb: Verb, arranged: Arranged, made: (identity: Identity) => Made): void {
  const key = `${verb}-${String(maker.vectors.length).padStart(6, "0")}`;
  // eslint-disable-next-line typescript/no-unsafe-type-assertion -- any text will do as a key
  const identity = { ...whose, key: key as Identity["key"] };
  const before = arranged.record;
  maker.vectors.push({ title: `${verb} ${title} on ${arranged.title}`, verb, identity, before, ...made(identity) });
}

type Made = Pick<Vector, "result" | "after" | "apply">;

export interface ClaimTaste {
  readonly trusted: boolean;
  readonly arranged: readonly Arranged[];
  readonly fingerprints?: readonly string[];
}

export function claimVectors({ trusted, arranged, fingerprints = Object.keys(prints) }: ClaimTaste): readonly Vector[] {
  const maker: Maker = { vectors: [] };
  for (const each of arranged) {
    for (const by of [owner, stranger]) {
      for (const name of fingerprints) {
        for (const takeover of ["none", "lapsed", "open"] as const) {
          // Whether a claim makes a doubt stay matters only where it is granted.
          for (const doubtStays of name === "raw" ? both : [false]) {
            const title = `${by === owner ? "by its owner" : "by another"}, ${name}, ${takeover}${doubtStays ? ", stays" : ""}`;
            add(maker, title, "claim", each, (identity) => {
              const fingerprint = { version: 2, ...(prints[name] ?? stored) };
              const request = { identity, owner: by, fingerprint, leaseMs, retentionMs, takeover, doubtStays };
              return { ...claimed(each.record, request, trusted), apply: (store) => store.claim(request) };
            });
          }
        }
      }
    }
  }
  return maker.vectors;
}

function claimed(record: WholeRecord | undefined, request: ClaimRequest, trusted: boolean) {
  const moment: Moment = { nowUs, trusted, fenceFloor: 0 };
  const { fingerprint } = request;
  const verdict = judgeClaim(record, request, fingerprint, moment);
  let after: WholeRecord;
  if (record === undefined || verdict === "new") {
    const { version: _version, ...asked } = fingerprint;
    after = { ...born(request, asked, record?.fence ?? 0, moment), steps: [], audit: [], resources: [] };
    return { after, result: grantOf(after, fingerprint.canonical, "new") };
  }
  if (isRefusal(verdict)) {
    return { after: noted(record, request, verdict), result: refusalOf(record, verdict, nowUs) };
  }
  after = held(record, request, verdict, moment);
  const result: ClaimResult = grantOf(after, stored.canonical, verdict);
  return { after, result };
}

export function ownerVectors(arranged: readonly Arranged[]): readonly Vector[] {
  const maker: Maker = { vectors: [] };
  for (const each of arranged) {
    const fence = each.record?.fence ?? nowUs;
    const proofs: Readonly<Record<string, { owner: OwnerToken; fence: number }>> = {
      "by its owner": { owner, fence },
      "by another": { owner: stranger, fence },
      "by its owner, other fence": { owner, fence: fence + 1 },
    };
    for (const [whoseProof, proof] of Object.entries(proofs)) ownedVectors(maker, each, whoseProof, proof);
    settleVectors(maker, each, fence);
  }
  return maker.vectors;
}

function ownedVectors(maker: Maker, each: Arranged, title: string, proof: { owner: OwnerToken; fence: number }): void {
  const { record } = each;
  const put = (
    what: string,
    verb: Exclude<Verb, "claim" | "settle" | "forget">,
    expected: { readonly record: WholeRecord | undefined; readonly result: unknown },
    call: (store: Store, claim: Claim) => Promise<unknown>,
  ): void =>
    add(maker, `${title}${what}`, verb, each, (identity) => ({
      result: expected.result,
      after: expected.record,
      apply: (store) => call(store, { identity, ...proof }),
    }));

  put("", "renew", owned.renew(record, { ...proof, leaseMs }, nowUs), async (store, claim) => {
    const [result] = await store.renew([{ ...claim, leaseMs }]);
    return result;
  });
  const response = lastAnswer;
  put("", "complete", owned.complete(record, { ...proof, response }, nowUs), (store, claim) =>
    store.complete({ ...claim, response }),
  );
  put("", "release", owned.release(record, proof, nowUs), (store, claim) => store.release(claim));
  for (const parts of suspensions) {
    const what = `, ${Object.keys(parts).join(" and ") || "plainly"}`;
    put(what, "suspend", owned.suspend(record, { ...proof, ...parts }, nowUs), (store, claim) =>
      store.suspend({ ...claim, ...parts }),
    );
  }
  for (const name of ["pay", "mail", "new"]) {
    const step = { name, leaseMs };
    put(`, ${name}`, "startStep", owned.startStep(record, { ...proof, ...step }, nowUs), (store, claim) =>
      store.startStep({ ...claim, ...step }),
    );
    const done = { ...step, result: hash(6) };
    put(`, ${name}`, "finishStep", owned.finishStep(record, { ...proof, ...done }, nowUs), (store, claim) =>
      store.finishStep({ ...claim, ...done }),
    );
  }
  for (const claimedWithin of both) {
    const result: Landed = owned.landedOf(record, { ...proof, claimedWithin });
    put(claimedWithin ? ", claimed within" : "", "landed", { record, result }, (store, claim) =>
      store.landed({ ...claim, claimedWithin }),
    );
  }
}

const suspensions = [
  {},
  { interim: lastAnswer },
  { holdReason: "again" },
  { interim: lastAnswer, holdReason: "again" },
];

function settleVectors(maker: Maker, each: Arranged, fence: number): void {
  const decisions: readonly SettleRequest["decision"][] = [
    { kind: "adopt", response: lastAnswer },
    { kind: "release" },
    { kind: "hold" },
  ];
  for (const decision of decisions) {
    for (const looked of [fence, fence + 1]) {
      for (const unlessHeld of both) {
        const terms = {
          fence: looked,
          decision,
          actor: "ada",
          reason: "asked",
          ...(unlessHeld && { unlessHeld: true as const }),
        };
        const { record: after, result } = settle(each.record, terms, { nowUs, fenceFloor: 0 });
        const title = `${decision.kind}${looked === fence ? "" : ", other fence"}${unlessHeld ? ", unless held" : ""}`;
        add(maker, title, "settle", each, (identity) => ({
          result,
          after,
          apply: (store) => store.settle({ identity, ...terms }),
        }));
      }
    }
  }
}

/** Answers that a request for erasure meets, beside those of all records. */
const tombstones: Readonly<Record<string, StoredResponse>> = {
  "completed and forgotten": tombstoneOf(201),
  "completed, too large an answer to keep": lastAnswer,
  "completed, a header that looks like a mark": { ...tombstoneOf(201), kind: "full" },
};

/** Of records that nobody spoke of, and of those about which there are two notes, whose reasons go. */
export function forgetVectors(arranged: readonly Arranged[]): readonly Vector[] {
  const maker: Maker = { vectors: [] };
  const marked = Object.entries(tombstones).map(([title, response], at) => {
    const record: WholeRecord = { ...base(spread(at), true), state: "completed", leaseUs: 0, response };
    return { title, record };
  });
  for (const each of [...arranged, ...marked]) {
    const fence = each.record?.fence ?? nowUs;
    for (const looked of [fence, fence + 1]) {
      for (const notes of each.record === undefined ? [[]] : [[], ["by phone", "again"]]) {
        const terms = { fence: looked, actor: "ada", reason: "asked" };
        const title = `${looked === fence ? "as looked at" : "other fence"}, ${notes.length} notes`;
        add(maker, title, "forget", each, (identity) => {
          const told = notes.map((reason) => ({ fence, actor: "bob", action: "look", reason }));
          const audit = told.map((note) => ({ atMs: toMs(nowUs), ...note }));
          return {
            ...erased(each.record && { ...each.record, audit }, terms),
            async apply(store) {
              for (const note of told) await store.note({ identity, ...note });
              return store.forget({ identity, ...terms });
            },
          };
        });
      }
    }
  }
  return maker.vectors;
}

function erased(record: WholeRecord | undefined, terms: Pick<ForgetRequest, "fence" | "actor" | "reason">) {
  const refusal = forgetRefusal(record, terms, nowUs);
  if (record === undefined || refusal !== undefined) return { after: record, result: refusal };
  return { after: forgotten(record, terms, { nowUs, fenceFloor: 0 }), result: "ok" };
}
