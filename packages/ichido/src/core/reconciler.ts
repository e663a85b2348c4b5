/**
 * Finds records whose outcome is unknown and asks the outside world what became of them, so that callers need not come
 * back for it. Any number of processes may run one: a record is taken under a fence before anything is asked about it, and
 * nobody waits while it is asked. What it decides goes through `settle`, and so into the audit.
 *
 * Left alone: records on hold, which wait for a person, and operations that it was told nothing about. A hold that a person
 * makes while a look is under way stands, whenever it comes: the claim does not take the record, and a decision made before
 * does not take effect on it. While `verify` is under way the person is told that the record is `live`.
 */
import { functionOption, integerOption, knownOptions, optionInvalid, type OptionNames } from "./option-checks.ts";
import { withDeadline } from "./deadline.ts";
import { limits } from "./defaults.ts";
import { believed, isInDoubt } from "./doubt.ts";
import { fraction, systemEnvironment, type Environment, type Timer } from "./environment.ts";

import type { IchidoListener } from "./events.ts";
import type { AnswerLike, VerifyAnswer, VerifyRequest } from "./options.ts";
import type { Identity, OwnerToken } from "./record.ts";
import { referenceOf } from "./reference.ts";
import { keyHashOf, localIdOf } from "./scope.ts";
import { decisionOf, storeOf, type Settlement, type StoreHolder } from "./settlement.ts";
import type { Claim, ClaimResult, Step, StoredRecord } from "./store.ts";

export interface ReconcileRequest extends VerifyRequest {
  /** How long ago the operation was first asked for, by the store's clock. */
  readonly ageMs: number;
  /** The external calls that were started under the key, with what is known of them. */
  readonly steps: readonly Step[];
  readonly labels: Readonly<Record<string, string>>;
}

export interface ReconciledOperation {
  /** Asks the provider by the references of the vanished attempt. Bounded by `verifyMs`; an error counts as not visible yet. */
  readonly verify: (request: ReconcileRequest) => VerifyAnswer | Promise<VerifyAnswer>;
  /** After `absent` the key was handed back: run the operation again here, or leave it to the caller's next retry. */
  readonly rerun?: (request: {
    readonly identity: Identity;
    readonly labels: Readonly<Record<string, string>>;
  }) => unknown;
}

export interface ReconcilerOptions {
  readonly operations: Readonly<Record<string, ReconciledOperation>>;
  /** How often it looks. Default 30 000. */
  readonly everyMs?: number;
  /**
   * Records are left to their callers for this long after their owner vanished or, where the owner itself ended its lease,
   * after this process first saw them. Default 60 000; 0 where `tick` is called by a process that does not stay.
   */
  readonly olderThanMs?: number;
  /**
   * Counted from first sight; then the record goes on hold for a person to settle. Default 43 200 000 (12 hours), and for a
   * record with a shorter retention at the latest after three quarters of that.
   */
  readonly giveUpAfterMs?: number;
  /** Default 10 000. */
  readonly verifyMs?: number;
  /** Records that one look takes at most. Default 50. */
  readonly batchMax?: number;
  readonly onEvent?: IchidoListener;
  readonly environment?: Environment;
}

/** What one look did with the records it saw. */
export interface ReconcilerReport {
  /** Took the answer that was found. */
  readonly adopted: number;
  /** Handed back: nothing had happened. */
  readonly released: number;
  /** Gave up. */
  readonly held: number;
  /** Cannot be told yet. */
  readonly waiting: number;
  /** Another process, or a caller, was faster. */
  readonly overtaken: number;
  /** The store failed; tried again next time. */
  readonly failed: number;
}

export interface Reconciler {
  start(): void;
  /**
   * Takes no further record, and resolves when the one under way is decided: after `drainMs` at the latest. What is then
   * still asked about is left to its lease. Default 15 000.
   */
  stop(options?: { readonly drainMs?: number }): Promise<void>;
  /** One bounded look, for tests, cron and serverless. A second call joins the first. */
  tick(): Promise<ReconcilerReport>;
}

export const reconcilerDefaults = {
  everyMs: 30_000,
  olderThanMs: 60_000,
  giveUpAfterMs: 43_200_000,
  verifyMs: 10_000,
  batchMax: 50,
} as const;

/** Longer than `verify` may take by default. */
const drainMsDefault = 15_000;

/** What the lease must cover besides `verify`: the store calls around it. */
const leaseSpareMs = 10_000;
/** A record that is not visible yet is asked about after everyMs, then twice that, and so on up to this many times. */
const backoffFactorMax = 64;
/** A person must hear of a record while its callers still expect its answer. */
const retentionPart = 0.75;
/** Records whose next look is remembered. */
const rememberedMax = 10_000;
const actor = "ichido reconciler";

type Outcome = keyof ReconcilerReport;
type Granted = Extract<ClaimResult, { outcome: "granted" }>;

/** A listener that fails must not end the process. */
function guarded(listener: IchidoListener | undefined): IchidoListener {
  return (event) => {
    try {
      const result: unknown = listener?.(event);
      if (result instanceof Promise) result.catch(() => undefined);
    } catch {
      // What it was told is lost; the reconciler goes on.
    }
  };
}

export function createReconciler(holder: StoreHolder, options: ReconcilerOptions): Reconciler {
  const store = storeOf(holder);
  knownOptions("createReconciler", options, optionNames);
  const settings = { ...reconcilerDefaults, environment: systemEnvironment, ...options };
  check(settings);
  const { environment, operations, everyMs, verifyMs } = settings;
  const warn = guarded(settings.onEvent);
  const names = Object.keys(operations);
  const leaseMs = Math.min(verifyMs + leaseSpareMs, limits.leaseMsMax);
  const later = new Map<string, { readonly fromMs: number; readonly tries: number }>();
  /** Where the last look stopped, by operation: a long list is walked over several looks. */
  const cursors = new Map<string, string>();
  let timer: Timer | undefined;
  let running: Promise<ReconcilerReport> | undefined;
  let stopped = true;
  /** The look under way takes no further record. */
  let halted = false;
  /** The record that is being asked about. */
  let inHand: Claim | undefined;

  async function look(): Promise<ReconcilerReport> {
    const report: Record<Outcome, number> = { adopted: 0, released: 0, held: 0, waiting: 0, overtaken: 0, failed: 0 };
    // What somebody else settled never comes back to be forgotten by name.
    const oldestMs = environment.monotonicMs() - everyMs * backoffFactorMax;
    for (const [id, { fromMs }] of later) if (fromMs < oldestMs) later.delete(id);
    let left = settings.batchMax;
    for (const operation of names) {
      for (const record of left > 0 && !halted ? await openRecords(operation, left) : []) {
        if (halted) return report;
        left -= 1;
        report[await reconciled(record)] += 1;
      }
    }
    return report;
  }

  async function openRecords(operation: string, limit: number): Promise<readonly StoredRecord[]> {
    const from = cursors.get(operation);
    const { records, cursor } = await store.list({
      operation,
      state: "unknown",
      limit: Math.min(limit * 4, 1_000),
      ...(from === undefined ? {} : { cursor: from }),
    });
    if (cursor === undefined) cursors.delete(operation);
    else cursors.set(operation, cursor);
    return records.filter((record) => isDue(record)).slice(0, limit);
  }

  function isDue(record: StoredRecord): boolean {
    if (record.holdReason !== undefined) return false;
    const id = localIdOf(record.identity);
    const nowMs = environment.monotonicMs();
    const next = later.get(id);
    if (next !== undefined) return next.fromMs <= nowMs;
    // Of a lease that lapsed the store tells since when; of one that its owner ended, only that it has.
    const openMs = -(record.leaseLeftMs ?? 0);
    if (openMs >= settings.olderThanMs) return true;
    if (later.size < rememberedMax) later.set(id, { fromMs: nowMs + settings.olderThanMs - openMs, tries: 0 });
    return false;
  }

  async function reconciled(record: StoredRecord): Promise<Outcome> {
    try {
      return await take(record);
    } catch (error) {
      const keyHash = keyHashOf(record.identity);
      const message = `the record ${keyHash} of ${record.identity.operation} could not be reconciled; it is tried again`;
      warn({ type: "warning", code: "reconcile-failed", message, error });
      return "failed";
    }
  }

  async function take(record: StoredRecord): Promise<Outcome> {
    const { identity, fingerprint } = record;
    // The list is a little old: a record that somebody has taken since would be asked about twice.
    if ((await store.find(identity))?.fence !== record.fence) return "overtaken";
    const owner = Buffer.from(environment.randomBytes(16)).toString("hex") as OwnerToken;
    const grant = await store.claim({
      identity,
      owner,
      fingerprint,
      leaseMs,
      retentionMs: limits.retentionMsAdvised,
      takeover: "open",
    });
    if (grant.outcome !== "granted") {
      later.delete(localIdOf(identity));
      return "overtaken";
    }
    const claim: Claim = { identity, owner, fence: grant.fence };
    if (!isInDoubt(grant)) {
      // It expired, or was handed back, between the list and the claim: nothing is left to find out.
      await store.release(claim);
      return "overtaken";
    }
    const operation = operations[identity.operation];
    if (operation === undefined) return "overtaken";
    const taken = await store.find(identity);
    const ageMs = Math.max(0, (taken?.updatedAtMs ?? grant.createdAtMs) - grant.createdAtMs);
    inHand = claim;
    try {
      const answer = await asked(operation, record, grant, ageMs);
      return await decided(operation, record, claim, answer, ageMs);
    } finally {
      inHand = undefined;
    }
  }

  async function asked(
    { verify }: ReconciledOperation,
    { identity, labels }: StoredRecord,
    grant: Granted,
    ageMs: number,
  ): Promise<VerifyAnswer> {
    const abort = new AbortController();
    try {
      const steps = grant.stepsStarted === 0 ? [] : await store.steps(identity);
      const reference = (name: string): string => referenceOf(identity, grant.canonical, name);
      return await withDeadline(environment, verifyMs, async () =>
        believed(
          await verify({ identity, attempt: grant.attempt, reference, signal: abort.signal, ageMs, steps, labels }),
          `operation ${identity.operation}`,
          warn,
        ),
      );
    } catch (error) {
      const message = `verify of operation ${identity.operation} failed; the outcome stays unknown until it answers`;
      warn({ type: "warning", code: "verify-failed", message, error });
      return { verdict: "not-visible-yet" };
    } finally {
      abort.abort();
    }
  }

  async function decided(
    operation: ReconciledOperation,
    { identity, labels, createdAtMs, expiresAtMs }: StoredRecord,
    claim: Claim,
    answer: VerifyAnswer,
    ageMs: number,
  ): Promise<Outcome> {
    const id = localIdOf(identity);
    // Ended before the decision, which is refused under a living owner. Whoever takes the record in between is held to the
    // operation's own `onUnknown`, and the decision finds another fence.
    if ((await store.suspend(claim)) === "stale") return "overtaken";
    const tries = later.get(id)?.tries ?? 0;
    later.delete(id);
    const settle = async (decision: Settlement["decision"], reason: string): Promise<boolean> => {
      const result = await store.settle({
        identity,
        fence: claim.fence,
        decision: decisionOf(decision),
        actor,
        reason,
        unlessHeld: true,
      });
      if (result === "ok") later.delete(id);
      return result === "ok";
    };
    if (answer.verdict === "found") {
      const adopt = { kind: "adopt", answer: answer.response as AnswerLike } as const;
      return (await settle(adopt, "verify found the outcome")) ? "adopted" : "overtaken";
    }
    if (answer.verdict === "absent") {
      if (!(await settle({ kind: "release" }, "verify found that nothing had happened"))) return "overtaken";
      await operation.rerun?.({ identity, labels });
      return "released";
    }
    const patienceMs = Math.min(settings.giveUpAfterMs, (expiresAtMs - createdAtMs) * retentionPart);
    if (ageMs >= patienceMs) {
      const reason = `verify could not tell the outcome within ${Math.round(patienceMs)} ms`;
      return (await settle({ kind: "hold" }, reason)) ? "held" : "overtaken";
    }
    postpone(id, tries + 1, patienceMs - ageMs);
    return "waiting";
  }

  /** Doubling, with full jitter over the upper half, so that processes do not ask in step; no longer than patience lasts. */
  function postpone(id: string, tries: number, leftMs: number): void {
    if (later.size >= rememberedMax) return;
    const pauseMs = everyMs * Math.min(2 ** (tries - 1), backoffFactorMax) * (0.5 + fraction(environment) / 2);
    const delayMs = Math.min(pauseMs, leftMs);
    later.set(id, { fromMs: environment.monotonicMs() + delayMs, tries });
  }

  /** Nobody waits for its answer any longer, and nobody may have to wait out its lease: the doubt stays. */
  async function handBack(): Promise<void> {
    if (inHand !== undefined) await store.suspend(inHand);
  }

  function tick(): Promise<ReconcilerReport> {
    if (running === undefined) {
      halted = false;
      running = look().finally(() => {
        running = undefined;
      });
    }
    return running;
  }

  function schedule(): void {
    if (stopped) return;
    timer?.cancel();
    timer = environment.after(everyMs * (0.75 + fraction(environment) / 2), () => {
      tick()
        .catch((error: unknown) => {
          const message = "the records in doubt could not be listed; they are looked for again";
          warn({ type: "warning", code: "reconcile-failed", message, error });
        })
        .finally(schedule);
    });
  }

  return {
    start() {
      if (!stopped) return;
      stopped = false;
      schedule();
    },
    async stop({ drainMs = drainMsDefault } = {}) {
      stopped = true;
      halted = true;
      timer?.cancel();
      const look = running;
      if (look === undefined) return;
      await withDeadline(environment, drainMs, () => look)
        .catch(() => handBack())
        .catch(() => undefined);
    },
    tick,
  };
}

const optionNames: OptionNames<ReconcilerOptions> = {
  operations: true,
  everyMs: true,
  olderThanMs: true,
  giveUpAfterMs: true,
  verifyMs: true,
  batchMax: true,
  onEvent: true,
  environment: true,
};

function check(settings: Readonly<Record<keyof typeof reconcilerDefaults, number>> & ReconcilerOptions): void {
  for (const name of Object.keys(reconcilerDefaults) as (keyof typeof reconcilerDefaults)[]) {
    integerOption(name, settings[name], name === "olderThanMs" ? 0 : 1, Number.MAX_SAFE_INTEGER);
  }
  const verifyMsMax = limits.leaseMsMax - leaseSpareMs;
  if (settings.verifyMs > verifyMsMax) {
    throw optionInvalid("verifyMs", `at most ${verifyMsMax}, so that a lease covers it`, settings.verifyMs);
  }
  if (typeof settings.operations !== "object" || Object.keys(settings.operations).length === 0) {
    throw optionInvalid("operations", "at least one operation with its verify", settings.operations);
  }
  for (const [name, operation] of Object.entries(settings.operations)) {
    knownOptions(`operations[${JSON.stringify(name)}]`, operation, { verify: true, rerun: true });
    functionOption(`operations[${JSON.stringify(name)}].verify`, operation.verify);
  }
}
