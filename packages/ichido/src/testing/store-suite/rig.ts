/**
 * A store under test with the ways of letting its time pass. Where the store's clock can be moved, nothing waits; where
 * it cannot, durations are short and every wait polls against a deadline, so that a slow machine makes a case slower,
 * never wrong: a lease that must lapse is short, a lease that must hold is long.
 */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Identity } from "../../core/contract/record.ts";
import type {
  Claim,
  ClaimRequest,
  ClaimResult,
  Step,
  Store,
  StoredRecord,
  SweepResult,
} from "../../core/contract/store.ts";
import { sampleFingerprint, sampleIdentity, sampleOwner, sampleResponse } from "./samples.ts";
import type { TransactionRunner } from "../../core/contract/transaction.ts";
import type { OpenedStore, StoreClock, StoreSubject } from "./subject.ts";

export const leaseMsShort = 150;
export const leaseMsLong = 30_000;
export const tickMs = 150;
/** At least four ticks, as the engine arranges it. */
export const retentionMsShort = 4 * tickMs;
export const retentionMsLong = 86_400_000;
const deadlineMs = 20_000;
/** Where time need not be waited for, a wait in vain ends by its turns. */
const turnsMax = 3_000;

export type Granted = Extract<ClaimResult, { outcome: "granted" }>;
export type Completed = Extract<ClaimResult, { outcome: "completed" }>;

export interface Rig {
  readonly store: Store;
  /** The other view of the same data, or the store itself where there is only one. */
  readonly second: Store;
  readonly clock: StoreClock | undefined;
  readonly runner: TransactionRunner<unknown> | undefined;
  /** As the subject asks. */
  readonly histories: number | undefined;

  /** A claim with the usual values; `owner` is a name, not a token. */
  request(identity: Identity, owner: string, changes?: Partial<ClaimRequest>): ClaimRequest;
  claim(identity: Identity, owner: string, changes?: Partial<ClaimRequest>): Promise<ClaimResult>;
  /** A claim that must be granted, with the proof of ownership for later verbs. */
  grant(
    identity: Identity,
    owner: string,
    changes?: Partial<ClaimRequest>,
  ): Promise<{ claim: Claim; granted: Granted }>;
  /** A record whose owner took it with a short lease and vanished. */
  lapsed(
    identity: Identity,
    owner: string,
    changes?: Partial<ClaimRequest>,
  ): Promise<{ claim: Claim; granted: Granted }>;
  completed(
    identity: Identity,
    owner: string,
    changes?: Partial<ClaimRequest>,
  ): Promise<{ claim: Claim; granted: Granted }>;
  /** Waits until the lease that the record has now is over. */
  untilLapsed(identity: Identity): Promise<void>;

  /** Lets the store's time pass without ticks. */
  pass(ms: number): Promise<void>;
  /** Ticks evenly until the store trusts its clock. */
  trust(): Promise<void>;
  /** Ticks evenly until everything made before this call with the short retention is past it, and expiry works. */
  outliveRetention(): Promise<void>;
  /** Ticks and repeats the claim until it is answered otherwise than by `while`. */
  claimWhile(outcome: ClaimResult["outcome"], request: ClaimRequest): Promise<ClaimResult>;
  /** Ticks and sweeps until there is no more; the sum of what was deleted. */
  sweepAll(limit?: number): Promise<number>;

  /** The record and its steps without what changes by the mere passing of time. */
  snapshot(identity: Identity): Promise<unknown>;
  mustFind(identity: Identity): Promise<StoredRecord>;
  eventually(what: string, check: () => Promise<boolean>): Promise<void>;
}

export async function withRig(subject: StoreSubject, run: (rig: Rig) => Promise<void>): Promise<void> {
  const opened = await subject.open();
  try {
    assert.equal(
      opened.clock !== undefined,
      subject.movesClock === true,
      "the subject's movesClock must say whether open() gives a clock, or cases would be skipped unnoticed",
    );
    assert.equal(
      opened.store.watch !== undefined,
      subject.watches === true,
      "the subject's watches must say whether the store has watch(), or cases would be skipped unnoticed",
    );
    assert.equal(
      opened.runner !== undefined,
      subject.joins === true,
      "the subject's joins must say whether open() gives a runner, or cases would be skipped unnoticed",
    );
    await run(createRig(opened, subject.histories));
  } finally {
    await opened.close();
  }
}

function createRig({ store, second = store, clock, runner }: OpenedStore, histories: number | undefined): Rig {
  let sentinels = 0;

  async function pass(ms: number): Promise<void> {
    if (clock === undefined) await sleep(ms);
    else await clock.advanceMs(ms);
  }

  async function eventually(what: string, check: () => Promise<boolean>): Promise<void> {
    const untilMs = performance.now() + deadlineMs;
    for (let turn = 0; !(await check()); turn += 1) {
      assert.ok(clock === undefined || turn < turnsMax, `${what}: not within ${turnsMax} turns of the store's clock`);
      assert.ok(performance.now() < untilMs, `${what}: not within ${deadlineMs} ms`);
      await pass(tickMs / 5);
    }
  }

  const tick = (): Promise<{ readonly trusted: boolean }> => store.tick({ intervalMs: tickMs });

  const rig: Rig = {
    store,
    second,
    clock,
    runner,
    histories,
    request: (identity, owner, changes = {}) => ({
      identity,
      owner: sampleOwner(owner),
      fingerprint: sampleFingerprint(),
      leaseMs: leaseMsLong,
      retentionMs: retentionMsLong,
      takeover: "lapsed",
      ...changes,
    }),
    claim: (identity, owner, changes) => store.claim(rig.request(identity, owner, changes)),
    async grant(identity, owner, changes) {
      const request = rig.request(identity, owner, changes);
      const granted = asGranted(await store.claim(request));
      return { claim: { identity, owner: request.owner, fence: granted.fence }, granted };
    },
    async lapsed(identity, owner, changes) {
      const owned = await rig.grant(identity, owner, { leaseMs: leaseMsShort, ...changes });
      await rig.untilLapsed(identity);
      return owned;
    },
    async completed(identity, owner, changes) {
      const owned = await rig.grant(identity, owner, changes);
      assert.equal(await store.complete({ ...owned.claim, response: sampleResponse() }), "ok");
      return owned;
    },
    untilLapsed: (identity) =>
      eventually("the lease lapses", async () => ((await rig.mustFind(identity)).leaseLeftMs ?? 0) <= 0),
    pass,
    trust: () => eventually("the clock is trusted", async () => (await tick()).trusted),
    async outliveRetention() {
      sentinels += 1;
      const identity = sampleIdentity(`sentinel-${sentinels}`, { operation: "sentinel" });
      await rig.completed(identity, `sentinel-${sentinels}`, { retentionMs: retentionMsShort });
      const after = rig.request(identity, `sentinel-${sentinels}-after`, { retentionMs: retentionMsLong });
      asGranted(await rig.claimWhile("completed", after));
    },
    async claimWhile(outcome, request) {
      let result: ClaimResult | undefined;
      await eventually(`the claim is no longer answered ${outcome}`, async () => {
        await tick();
        result = await store.claim(request);
        return result.outcome !== outcome;
      });
      assert.ok(result !== undefined);
      return result;
    },
    async sweepAll(limit = 1_000) {
      let deleted = 0;
      await eventually("the sweep comes to its end", async () => {
        await tick();
        const result: SweepResult = await store.sweep({ limit, budgetMs: 5_000 });
        assert.ok(result.deleted <= limit, `a sweep of at most ${limit} deleted ${result.deleted}`);
        deleted += result.deleted;
        return !result.guarded && !result.more && result.busy !== true;
      });
      return deleted;
    },
    async snapshot(identity) {
      const { leaseLeftMs: _left, ...record } = await rig.mustFind(identity);
      const steps = (await store.steps(identity)).map(({ ageMs: _age, firstAgeMs: _first, ...step }: Step) =>
        plain(step),
      );
      return { record: plain(record), steps };
    },
    async mustFind(identity) {
      const record = await store.find(identity);
      assert.ok(record !== undefined, "the record is there");
      return record;
    },
    eventually,
  };
  return rig;
}

export function asGranted(result: ClaimResult): Granted {
  assert.equal(result.outcome, "granted");
  return result as Granted;
}

export function asCompleted(result: ClaimResult): Completed {
  assert.equal(result.outcome, "completed");
  return result as Completed;
}

/** Bytes as hexadecimal digits, so that a Buffer and a Uint8Array of the same content are equal; absent = undefined. */
export function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return `bytes:${Buffer.from(value).toString("hex")}`;
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(entries.map(([name, member]) => [name, plain(member)]));
}

export function assertSame(actual: unknown, expected: unknown, message?: string): void {
  assert.deepEqual(plain(actual), plain(expected), message);
}
