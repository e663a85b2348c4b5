/**
 * Transaction mode: the record, the business writes and whatever else the handler writes on the transaction commit
 * together or not at all. There is no lease: while the handler runs, its record is an uncommitted row, duplicates wait
 * for it, and a crash leaves nothing to recover. For handlers whose effects are in that database alone.
 */
import type { Attempt } from "./attempt.ts";
import { withDeadline } from "../contract/deadline.ts";
import { limits } from "../contract/defaults.ts";
import { recover } from "./doubt.ts";
import type { EngineParts } from "./engine-parts.ts";
import { claimRequestOf, rulingOf, type Ask, type Refusal, type Ruling } from "./ruling.ts";
import { findCommitOutcome, wasAborted } from "./lost-commit.ts";
import { isSameRequest } from "../record-machine/claim.ts";
import type { Fingerprint, StoredResponse } from "../contract/record.ts";
import { localIdOf } from "../request/scope.ts";
import { FenceLost } from "./steps.ts";
import type { Claim, ClaimRequest, ClaimResult } from "../contract/store.ts";
import { StoreFailure } from "./store-calls.ts";
import { spanned } from "../contract/tracing.ts";
import { GivenUp, type TransactionHandle, type TransactionRunner } from "../contract/transaction.ts";
import { TransactionAttempt, type Conclusion, type TransactionEnd } from "./transaction-attempt.ts";

/** Rolls back by leaving the runner's function; not a failure. */
class LeaveUncommitted extends Error {}
/** Rolls back likewise; the answer is stored by itself afterwards. */
class KeepAnswerOnly extends Error {}

/** Somebody is at work, or was a moment ago: for how long is not known. */
const inFlight: Ruling = { kind: "in-flight", leaseLeftMs: limits.lockMsDefault };

type End = Exclude<TransactionEnd, "rolled-back">;

function lost(): FenceLost {
  return new FenceLost("another attempt owns this key");
}

/**
 * A transaction that found its record completed: those that waited for it with the same content need not look again, one by one.
 */
interface Seen {
  readonly fingerprint: Fingerprint;
  readonly result: Extract<ClaimResult, { outcome: "completed" }>;
}

export interface TransactionMode {
  rule(ask: Ask<never>): Promise<Ruling>;
  /** Transactions that are open in this process. */
  readonly running: number;
  /** Resolves when none is open. */
  idle(): Promise<void>;
}

export function createTransactionMode(parts: EngineParts, runner: TransactionRunner<unknown>): TransactionMode {
  const { settings, calls, bodies, ownOutcomes, running } = parts;
  const { environment, faults, storeTimeoutMs } = settings;
  /** The claim is the first statement. */
  const runOptions = {
    opensByHandle: true,
    callMs: storeTimeoutMs,
    idleMs: settings.executionMs,
    leavesOne: true,
  };
  function begin(fn: (tx: unknown, handle: TransactionHandle) => Promise<void>): Promise<void> {
    return calls.begin(runner, fn, runOptions);
  }

  /** One waiting connection per key and process: the others wait for its end. */
  const underWay = new Map<string, Promise<Seen | undefined>>();

  /** A refusal whose writes are undone, in a transaction of its own. */
  async function keepAnswerOnly({ ask, claim: { owner } }: TransactionAttempt, answer: StoredResponse): Promise<End> {
    const request = claimRequestOf(ask, owner, waitMsOf(ask));
    try {
      await begin(async (_tx, handle) => {
        const grant = await calls.claimAnyhow(request, handle);
        if (grant.outcome !== "granted") throw lost();
        const claim = { identity: ask.identity, owner, fence: grant.fence };
        await store(claim, answer, handle);
      });
      return "committed";
    } catch (error) {
      return error instanceof FenceLost ? "lost" : "undone";
    }
  }

  async function store(
    claim: Claim,
    response: StoredResponse,
    handle: TransactionHandle,
    news: Attempt["news"] = {},
  ): Promise<void> {
    const completion = { ...claim, response, endsTransaction: true, ...news } as const;
    if ((await calls.complete(completion, handle)) === "stale") throw lost();
  }

  /** A takeover that was undone took back what it had noted: that the doubt outlives retention, which callers rely on. */
  async function noteDoubt(ask: Ask<never>, refusal: Ruling): Promise<Ruling> {
    if (running.isClosed) return refusal;
    const owner = parts.newOwner();
    const request: ClaimRequest = { ...claimRequestOf(ask, owner), takeover: "none" };
    running.claimSent();
    try {
      const met = await calls.claim(request);
      // The doubt is over: the record was free, and nothing runs for this caller.
      if (met.outcome === "granted") {
        const claim = { identity: ask.identity, owner, fence: met.fence };
        const isReleased = await calls.release(claim).catch(() => false);
        if (isReleased === false || met.unheard === true) calls.giveBackLater(request);
      }
      return refusal;
    } catch (error) {
      // Not as a claim that failed, where a route may run without the store: the doubt is known.
      throw new StoreFailure(settings.store.name, "note", error);
    } finally {
      running.claimAnswered();
    }
  }

  function open(ask: Ask<never>, id: string): Promise<Ruling> {
    const ruled = Promise.withResolvers<Ruling>();
    const request = claimRequestOf(ask, parts.newOwner(), waitMsOf(ask));
    underWay.set(id, transact(ask, id, request, ruled));
    return ruled.promise;
  }

  async function transact(
    ask: Ask<never>,
    id: string,
    request: ClaimRequest,
    ruled: PromiseWithResolvers<Ruling>,
  ): Promise<Seen | undefined> {
    let attempt: TransactionAttempt | undefined;
    let seen: Seen | undefined;
    let answer: StoredResponse | undefined;
    let refusal: Refusal | undefined;
    try {
      await begin(async (tx, handle) => {
        const grant = await spanned(ask.span?.child("idempotency.claim"), () => calls.claimAnyhow(request, handle));
        if (grant.outcome !== "granted") {
          refusal = rulingOf(grant);
          if (grant.outcome === "completed") seen = { fingerprint: ask.fingerprint, result: grant };
          // The claim may have noted that the doubt outlives retention, and the caller is to rely on that.
          if (grant.outcome === "unknown") return;
          throw new LeaveUncommitted("there is nothing to commit");
        }
        const claim = { identity: ask.identity, owner: request.owner, fence: grant.fence };
        const opened = new TransactionAttempt(parts, { ask, claim, grant }, tx, handle);
        attempt = opened;
        const found = await recover(parts, opened);
        if (found.kind === "found") {
          refusal = { kind: "replay", stored: found.response, waited: false };
          void opened.conclude({ kind: "commit", response: found.response });
        } else if (found.kind === "open") {
          refusal = { kind: "not-visible-yet" };
          void opened.conclude({ kind: "rollback" });
        } else await handOver(opened, ruled);
        const conclusion = await concluded(opened);
        if (conclusion.kind === "rollback") throw new LeaveUncommitted("nothing is kept of this attempt");
        answer = conclusion.response;
        if (conclusion.kind === "answer-only")
          throw new KeepAnswerOnly("the writes of this attempt are undone, its answer is kept");
        const kept = answer;
        await opened.traced("idempotency.complete", {}, () => store(claim, kept, handle, opened.news));
        if (faults !== undefined) await faults("before-commit");
      });
      if (faults !== undefined) await faults("after-commit");
      if (refusal !== undefined) ruled.resolve(refusal);
      attempt?.finish("committed");
      return undefined;
    } catch (error) {
      // Not before the end: a transaction that is shared may show what is not committed yet.
      if (refusal !== undefined && error instanceof LeaveUncommitted) {
        ruled.resolve(refusal.kind === "not-visible-yet" ? noteDoubt(ask, refusal) : refusal);
      } else if (attempt?.started !== true) ruled.reject(error as Error);
      if (attempt !== undefined) await ended(attempt, error, answer);
      return error instanceof LeaveUncommitted ? seen : undefined;
    } finally {
      underWay.delete(id);
    }
  }

  async function handOver(attempt: TransactionAttempt, ruled: PromiseWithResolvers<Ruling>): Promise<void> {
    if (faults !== undefined) await faults("before-handler");
    attempt.started = true;
    ruled.resolve({ kind: "execute", execution: attempt });
  }

  /** A handler that never ends must not hold its connection and its key for ever; a body can only be waited for. */
  function concluded(attempt: TransactionAttempt): Promise<Conclusion> {
    return bodies.bound(attempt.concluded).catch(() => {
      attempt.overdue();
      return attempt.concluded;
    });
  }

  async function ended(attempt: TransactionAttempt, error: unknown, answer: StoredResponse | undefined): Promise<void> {
    if (error instanceof LeaveUncommitted || error instanceof GivenUp) return attempt.finish("rolled-back");
    const end = answer === undefined ? "undone" : await endOf(attempt, error, answer);
    return attempt.finish(end, end === "committed" ? undefined : error);
  }

  async function endOf(attempt: TransactionAttempt, error: unknown, answer: StoredResponse): Promise<End> {
    // A refusal speaks of no writes, so it stays true when they are known to be gone before anybody asked for a commit. After
    // that nothing is kept, of whatever status: a refusal may have written too.
    const isKept = error instanceof KeepAnswerOnly || (wasAborted(error) && answer.status >= 400);
    if (isKept) return keepAnswerOnly(attempt, answer);
    const asked = { ...attempt.claim, claimedWithin: true };
    const outcome = await findCommitOutcome(parts, asked, error);
    return outcome === "committed" || outcome === "lost" ? outcome : "undone";
  }

  async function openAfter(ask: Ask<never>, id: string): Promise<Ruling> {
    const endMs = environment.monotonicMs() + waitMsOf(ask);
    for (let first = underWay.get(id); first !== undefined; first = underWay.get(id)) {
      const leftMs = endMs - environment.monotonicMs();
      if (leftMs <= 0) return inFlight;
      const ahead = first;
      const ended = await withDeadline(environment, leftMs, () => ahead).catch(() => undefined);
      if (ended !== undefined && isSameRequest(ended.fingerprint, ask.fingerprint)) {
        // Not for how long it is kept: that was told to an earlier ask, and the cache would count from this one.
        return { kind: "replay", stored: ended.result.response, waited: false };
      }
    }
    return running.isClosed ? inFlight : open(ask, id);
  }

  async function begun(ask: Ask<never>): Promise<Ruling> {
    // What was waited for before, such as a body, may have taken longer than closing.
    if (running.isClosed) return inFlight;
    const id = localIdOf(ask.identity);
    return underWay.has(id) ? openAfter(ask, id) : open(ask, id);
  }

  /** What lease mode, of the same operation, knows of the record. */
  async function afterOwn(ask: Ask<never>): Promise<Ruling> {
    return (await ownOutcomes.write(ask.identity)) ? begun(ask) : inFlight;
  }

  return {
    rule: (ask) => (ownOutcomes.has(ask.identity) ? afterOwn(ask) : begun(ask)),
    get running() {
      return underWay.size;
    },
    async idle() {
      await Promise.allSettled(underWay.values());
    },
  };

  function waitMsOf(ask: Ask<never>): number {
    const { inFlight } = ask.route;
    return typeof inFlight === "object" ? inFlight.waitMs : limits.lockMsDefault;
  }
}
