/**
 * A store under test, and the ways to let its time pass. Where the store's clock can be moved, no case waits. Where it
 * cannot, durations are short and every wait polls until a deadline, so that a slow machine makes a case slower, never
 * wrong: a lease that must lapse is short, a lease that must hold is long.
 */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Identity } from "../../core/contract/record.ts";
import type {
  Claim,
  ClaimRequest,
  ClaimResult,
  ListQuery,
  Step,
  Store,
  StoredRecord,
  SuspendRequest,
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
export const takeoverModes = ["none", "lapsed", "open"] as const;
const deadlineMs = 20_000;
/** Where the clock can be moved, a wait without success ends after so many rounds. */
const turnsMax = 3_000;

export type Granted = Extract<ClaimResult, { outcome: "granted" }>;
export type Completed = Extract<ClaimResult, { outcome: "completed" }>;

/** What a claim was granted, and the proof of ownership for later verbs. */
export interface Owned {
  readonly claim: Claim;
  readonly granted: Granted;
}

type Changes = Partial<ClaimRequest>;
type Doubt = Pick<SuspendRequest, "interim" | "holdReason">;

export async function withRig(subject: StoreSubject, run: (rig: Rig) => Promise<void>): Promise<void> {
  const opened = await subject.open();
  try {
    for (const [option, isDeclared, isGiven, what] of [
      ["movesClock", subject.movesClock, opened.clock !== undefined, "open() gives a clock"],
      ["watches", subject.watches, opened.store.watch !== undefined, "the store has watch()"],
      ["joins", subject.joins, opened.runner !== undefined, "open() gives a runner"],
    ] as const) {
      const rule = `the subject's ${option} must say whether ${what}, or cases would be skipped unnoticed`;
      assert.equal(isGiven, isDeclared === true, rule);
    }
    await run(new Rig(opened, subject.histories));
  } finally {
    await opened.close();
  }
}

export class Rig {
  readonly store: Store;
  /** The other view of the same data, or the store itself where there is only one. */
  readonly second: Store;
  readonly clock: StoreClock | undefined;
  readonly runner: TransactionRunner<unknown> | undefined;
  /** From the subject. */
  readonly histories: number | undefined;
  #sentinels = 0;

  constructor({ store, second = store, clock, runner }: OpenedStore, histories: number | undefined) {
    this.store = store;
    this.second = second;
    this.clock = clock;
    this.runner = runner;
    this.histories = histories;
  }

  /** A claim with the usual values; `owner` is a name, not a token. */
  request(identity: Identity, owner: string, changes: Changes = {}): ClaimRequest {
    return {
      identity,
      owner: sampleOwner(owner),
      fingerprint: sampleFingerprint(),
      leaseMs: leaseMsLong,
      retentionMs: retentionMsLong,
      takeover: "lapsed",
      ...changes,
    };
  }

  claim(identity: Identity, owner: string, changes?: Changes): Promise<ClaimResult> {
    return this.store.claim(this.request(identity, owner, changes));
  }

  /** Claims by distinct owners, sent at once through both views. */
  race(identity: Identity, claimants: number, changes?: Changes): Promise<readonly ClaimResult[]> {
    return atOnce(claimants, (index) =>
      (index % 2 === 0 ? this.store : this.second).claim(this.request(identity, `racer-${index}`, changes)),
    );
  }

  /** A claim that must be granted. */
  async grant(identity: Identity, owner: string, changes?: Changes): Promise<Owned> {
    const request = this.request(identity, owner, changes);
    const granted = asGranted(await this.store.claim(request));
    return { claim: { identity, owner: request.owner, fence: granted.fence }, granted };
  }

  /** A record whose owner took it with a short lease and vanished. */
  async lapsed(identity: Identity, owner: string, changes?: Changes): Promise<Owned> {
    const owned = await this.grant(identity, owner, { leaseMs: leaseMsShort, ...changes });
    await this.untilLapsed(identity);
    return owned;
  }

  async completed(identity: Identity, owner: string, changes?: Changes): Promise<Owned> {
    const owned = await this.grant(identity, owner, changes);
    await this.complete(owned.claim);
    return owned;
  }

  /** A record that its owner released. */
  async failed(identity: Identity, owner: string, changes?: Changes): Promise<Owned> {
    const owned = await this.grant(identity, owner, changes);
    assert.equal(await this.store.release(owned.claim), "ok");
    return owned;
  }

  /** A record whose owner ended its lease and left it in doubt. */
  async suspended(identity: Identity, owner: string, doubt: Doubt = {}, changes?: Changes): Promise<Owned> {
    const owned = await this.grant(identity, owner, changes);
    assert.equal(await this.store.suspend({ ...owned.claim, ...doubt }), "ok");
    return owned;
  }

  /** Completes the record; the store must accept it. */
  async complete(claim: Claim, response = sampleResponse()): Promise<void> {
    assert.equal(await this.store.complete({ ...claim, response }), "ok");
  }

  async startStep(claim: Claim, name: string, leaseMs = leaseMsLong): Promise<void> {
    assert.equal(await this.store.startStep({ ...claim, name, leaseMs }), "ok");
  }

  async finishStep(claim: Claim, name: string, result: Uint8Array, leaseMs = leaseMsLong): Promise<void> {
    assert.equal(await this.store.finishStep({ ...claim, name, leaseMs, result }), "ok");
  }

  async renew(claim: Claim): Promise<void> {
    assert.deepEqual([...(await this.store.renew([{ ...claim, leaseMs: leaseMsLong }]))], ["ok"]);
  }

  /** Waits until the lease that the record has now is over. */
  untilLapsed(identity: Identity): Promise<void> {
    return this.eventually("the lease lapses", async () => ((await this.mustFind(identity)).leaseLeftMs ?? 0) <= 0);
  }

  /** Lets the store's time pass without ticks. */
  async pass(ms: number): Promise<void> {
    await (this.clock === undefined ? sleep(ms) : this.clock.advanceMs(ms));
  }

  tick(): Promise<{ readonly trusted: boolean }> {
    return this.store.tick({ intervalMs: tickMs });
  }

  /** Ticks evenly until the store trusts its clock. */
  trust(): Promise<void> {
    return this.eventually("the clock is trusted", async () => (await this.tick()).trusted);
  }

  /** Ticks evenly until the short retention of everything made before this call has passed, and expiry works. */
  async outliveRetention(): Promise<void> {
    this.#sentinels += 1;
    const name = `sentinel-${this.#sentinels}`;
    const identity = sampleIdentity(name, { operation: "sentinel" });
    await this.completed(identity, name, { retentionMs: retentionMsShort });
    asGranted(await this.claimWhile("completed", this.request(identity, `${name}-after`)));
  }

  /** Ticks and repeats the claim as long as the answer is `outcome`. */
  async claimWhile(outcome: ClaimResult["outcome"], request: ClaimRequest): Promise<ClaimResult> {
    let result: ClaimResult | undefined;
    await this.eventually(`the claim is no longer answered ${outcome}`, async () => {
      await this.tick();
      result = await this.store.claim(request);
      return result.outcome !== outcome;
    });
    return result ?? assert.fail();
  }

  /** Ticks and sweeps until there is no more; the sum of what was deleted. */
  async sweepAll(limit = 1_000): Promise<number> {
    let deleted = 0;
    await this.eventually("the sweep comes to its end", async () => {
      await this.tick();
      const result: SweepResult = await this.store.sweep({ limit, budgetMs: 5_000 });
      assert.ok(result.deleted <= limit, `a sweep of at most ${limit} deleted ${result.deleted}`);
      deleted += result.deleted;
      return !result.guarded && !result.more && result.busy !== true;
    });
    return deleted;
  }

  /** Waits until the short retention has passed, and sweeps all that has expired. */
  async sweepExpired(): Promise<void> {
    await this.outliveRetention();
    await this.sweepAll();
  }

  async sweepUntilGone(...identities: readonly Identity[]): Promise<void> {
    await this.eventually("they are swept", async () => {
      await this.sweepAll();
      const found = await Promise.all(identities.map((identity) => this.store.find(identity)));
      return found.every((record) => record === undefined);
    });
  }

  /** The record and its steps without values that change only because time passes. */
  async snapshot(identity: Identity): Promise<unknown> {
    const { leaseLeftMs: _left, ...record } = await this.mustFind(identity);
    const steps = await this.store.steps(identity);
    return plain({ record, steps: steps.map(({ ageMs: _age, firstAgeMs: _first, ...step }: Step) => step) });
  }

  async mustFind(identity: Identity): Promise<StoredRecord> {
    const record = await this.store.find(identity);
    assert.ok(record !== undefined, "the record is there");
    return record;
  }

  async mustBeGone(...keys: readonly string[]): Promise<void> {
    for (const key of keys) assert.equal(await this.store.find(sampleIdentity(key)), undefined, key);
  }

  async eventually(what: string, check: () => Promise<boolean>): Promise<void> {
    const untilMs = performance.now() + deadlineMs;
    for (let turn = 0; !(await check()); turn += 1) {
      const inTurn = this.clock === undefined || turn < turnsMax;
      assert.ok(inTurn, `${what}: not within ${turnsMax} turns of the store's clock`);
      assert.ok(performance.now() < untilMs, `${what}: not within ${deadlineMs} ms`);
      await this.pass(tickMs / 5);
    }
  }
}

/** The keys on the first page of a list. */
export async function keysOf(store: Store, query: Omit<ListQuery, "limit">, limit = 100): Promise<readonly string[]> {
  return (await store.list({ ...query, limit })).records.map((record) => record.identity.key);
}

/** Name, state and attempt of each. */
export function stepsOf(steps: readonly Step[]): readonly string[] {
  return steps.map(({ name, state, attempt }) => `${name} ${state} ${attempt}`);
}

export function atOnce<Value>(count: number, make: (index: number) => Promise<Value>): Promise<Value[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => make(index)));
}

export function asGranted(result: ClaimResult): Granted {
  assert.equal(result.outcome, "granted");
  return result as Granted;
}

/** Asserts that exactly one of the claims was granted. */
export function theGranted(results: readonly ClaimResult[]): Granted {
  const granted = results.filter((result) => result.outcome === "granted");
  assert.equal(granted.length, 1, "exactly one claim is granted");
  return granted[0] ?? assert.fail();
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

type Expected<Value> = { readonly [Name in keyof Value]?: Value[Name] | undefined };

/** Compares these members only. */
export function assertHas<Value extends object>(actual: Value, expected: Expected<Value>, message?: string): void {
  const members = Object.keys(expected).map((name) => [name, (actual as Readonly<Record<string, unknown>>)[name]]);
  assertSame(members, Object.entries(expected), message);
}
