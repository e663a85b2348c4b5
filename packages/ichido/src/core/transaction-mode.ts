/**
 * Transaction mode: the record, the business writes and whatever else the handler writes on the transaction commit
 * together or not at all. There is no lease: while the handler runs, its record is an uncommitted row, duplicates wait
 * for it, and a crash leaves nothing to recover. For handlers whose effects are in that database alone.
 */
import { sleep, withDeadline } from "./deadline.ts";
import { Deadlines } from "./deadlines.ts";
import { limits } from "./defaults.ts";
import type { Ask, Ruling } from "./ruling.ts";
import type { Environment } from "./environment.ts";
import type { IchidoListener } from "./events.ts";
import type { FaultPoint } from "./faults.ts";
import type { NeutralResponse } from "./message.ts";
import type { OwnerToken, StoredResponse } from "./record.ts";
import { localIdOf } from "./scope.ts";
import { FenceLost } from "./steps.ts";
import type { Grant } from "./execution.ts";
import type { Claim, ClaimRequest, ClaimResult, CompleteRequest } from "./store.ts";
import type { StoreCalls } from "./store-calls.ts";
import { CommitFailed, type TransactionRunner } from "./transaction.ts";
import { createAttempt, type OpenAttempt } from "./transaction-attempt.ts";

type Fate = "committed" | "lost" | "failed" | "unknown";

/** How often the record is asked before the outcome counts as open, with a pause in between. */
const asksMax = 5;
const askPauseMs = 100;

/** The claim is the first statement. */
const opens = { opensByHandle: true };

/** Rolls back by leaving the runner's function; not a failure. */
class RolledBack extends Error {}
/** Rolls back likewise; the answer is stored by itself afterwards. */
class Undone extends Error {}

function completionOf(
  { identity, owner, fence }: Claim,
  response: StoredResponse,
  grant: Grant,
  request: ClaimRequest,
): CompleteRequest {
  const claimed = grant.unwritten === true ? { request, createdAtMs: grant.createdAtMs } : undefined;
  return { identity, owner, fence, response, endsTransaction: true, claimed };
}

export interface TransactionMode<Native> {
  rule(ask: Ask<Native>): Promise<Ruling>;
  /** Transactions that are open in this process. */
  readonly running: number;
  /** Resolves when none is open. */
  idle(): Promise<void>;
}

export interface TransactionModeParts<Native> {
  readonly runner: TransactionRunner<unknown>;
  readonly calls: StoreCalls;
  readonly environment: Environment;
  readonly emit: IchidoListener;
  readonly faults: FaultPoint | undefined;
  readonly executionMs: number;
  readonly newOwner: () => OwnerToken;
  readonly requestFor: (ask: Ask<Native>, owner: OwnerToken, waitMs?: number) => ClaimRequest;
  readonly truth: (ask: Ask<Native>) => Promise<NeutralResponse>;
  readonly unavailable: () => NeutralResponse;
  readonly rulingOf: (ask: Ask<Native>, result: Exclude<ClaimResult, { outcome: "granted" }>) => Ruling;
}

export function createTransactionMode<Native>(parts: TransactionModeParts<Native>): TransactionMode<Native> {
  const { calls, environment, faults } = parts;
  const executions = new Deadlines(environment, parts.executionMs);
  /** One waiting connection per key and process: the others join its turn. */
  const turns = new Map<string, Promise<void>>();

  /**
   * The commit's answer was lost, or the transaction broke: a claim with the same owner, on a transaction of its own, waits
   * for whatever is left of it and tells. A grant proves that nothing is left and never will be.
   */
  async function fateOf(ask: Ask<Native>, claim: Claim, refusal: StoredResponse | undefined): Promise<Fate> {
    for (let asks = 1; ; asks += 1) {
      const seen = await askAgain(ask, claim.owner, refusal);
      if (seen === "completed") {
        // By its owner: a fence that was never committed may have been given again.
        return (await calls.find(ask.identity))?.owner === claim.owner ? "committed" : "lost";
      }
      if (seen !== "processing") return seen;
      if (asks >= asksMax) return "unknown";
      await sleep(environment, askPauseMs * asks);
    }
  }

  /** Leaves nothing behind but the refusal, where one is to be kept. */
  async function askAgain(
    ask: Ask<Native>,
    owner: OwnerToken,
    refusal: StoredResponse | undefined,
  ): Promise<Fate | "completed" | "processing"> {
    const request = parts.requestFor(ask, owner, waitMsOf(ask));
    let seen: Fate | "completed" | "processing" = "committed";
    try {
      await parts.runner.run(async (_tx, handle) => {
        const grant = await calls.claim(request, handle);
        if (grant.outcome === "granted" && refusal !== undefined) {
          const claim = { identity: ask.identity, owner, fence: grant.fence };
          const fenced = await calls.complete(completionOf(claim, refusal, grant, request), handle);
          if (fenced === "stale") throw new FenceLost("another attempt owns this key");
          return;
        }
        if (grant.outcome === "granted") seen = "failed";
        else seen = grant.outcome === "completed" || grant.outcome === "processing" ? grant.outcome : "unknown";
        throw new RolledBack("it was only asked");
      }, opens);
      return seen;
    } catch (error) {
      if (error instanceof RolledBack) return seen;
      if (error instanceof FenceLost) return "lost";
      throw error;
    }
  }

  function open(ask: Ask<Native>, id: string): Promise<Ruling> {
    const ruled = Promise.withResolvers<Ruling>();
    const request = parts.requestFor(ask, parts.newOwner(), waitMsOf(ask));
    const turn = { id, over: false };
    const work = transact(ask, turn, request, ruled);
    if (!turn.over) turns.set(id, work);
    return ruled.promise;
  }

  async function transact(
    ask: Ask<Native>,
    turn: { readonly id: string; over: boolean },
    request: ClaimRequest,
    ruled: PromiseWithResolvers<Ruling>,
  ): Promise<void> {
    let attempt: OpenAttempt | undefined;
    let answer: StoredResponse | undefined;
    let refusal: Ruling | undefined;
    try {
      await parts.runner.run(async (tx, handle) => {
        const grant = await calls.claim(request, handle);
        if (grant.outcome !== "granted") {
          refusal = parts.rulingOf(ask, grant);
          throw new RolledBack("there is nothing to commit");
        }
        attempt = createAttempt(parts, { ask, tx, handle, grant, owner: request.owner });
        if (faults !== undefined) await faults("before-handler");
        attempt.execution.started = true;
        ruled.resolve({ kind: "execute", execution: attempt.execution });
        // A handler that never ends must not hold its connection and its key for ever.
        const conclusion = await executions.bound(attempt.concluded);
        if (conclusion.kind === "rollback") throw new RolledBack("nothing is kept of this attempt");
        answer = conclusion.response;
        if (conclusion.kind === "apart") throw new Undone("the writes of this attempt are undone, its answer is kept");
        const fenced = await calls.complete(completionOf(attempt.claim, answer, grant, request), handle);
        if (fenced === "stale") throw new FenceLost("another attempt owns this key");
        if (faults !== undefined) await faults("before-commit");
      }, opens);
      if (faults !== undefined) await faults("after-commit");
      attempt?.finish("committed");
    } catch (error) {
      // Not before the end: a transaction that is shared may show what is not committed yet.
      if (refusal !== undefined && error instanceof RolledBack) ruled.resolve(refusal);
      else if (attempt?.execution.started !== true) ruled.reject(error as Error);
      if (attempt !== undefined) await ended(ask, attempt, error, answer);
    } finally {
      turn.over = true;
      turns.delete(turn.id);
    }
  }

  async function ended(
    ask: Ask<Native>,
    attempt: OpenAttempt,
    error: unknown,
    answer: StoredResponse | undefined,
  ): Promise<void> {
    if (error instanceof RolledBack) {
      attempt.finish("rolled-back");
      return;
    }
    // A refusal speaks of no writes, so it stays true when they are gone: the usual way there is a statement that violated
    // a constraint, for which PostgreSQL makes the whole transaction pay.
    const hasSeenOthers = error instanceof CommitFailed && error.shared;
    const speaksOfNoWrites =
      !hasSeenOthers && (error instanceof Undone || (answer !== undefined && answer.status >= 400));
    try {
      const fate =
        error instanceof FenceLost ? "lost" : await fateOf(ask, attempt.claim, speaksOfNoWrites ? answer : undefined);
      attempt.finish(fate, fate === "committed" ? undefined : error);
    } catch {
      attempt.finish("unknown", error);
    }
  }

  async function openInTurn(ask: Ask<Native>, id: string): Promise<Ruling> {
    const endMs = environment.monotonicMs() + waitMsOf(ask);
    for (let turn = turns.get(id); turn !== undefined; turn = turns.get(id)) {
      const leftMs = endMs - environment.monotonicMs();
      const mine = turn;
      const waited =
        leftMs > 0 &&
        (await withDeadline(environment, leftMs, () => mine).then(
          () => true,
          () => false,
        ));
      if (!waited) return { kind: "in-flight", leaseLeftMs: limits.lockMsDefault };
    }
    return open(ask, id);
  }

  return {
    rule(ask) {
      const id = localIdOf(ask.identity);
      return turns.has(id) ? openInTurn(ask, id) : open(ask, id);
    },
    get running() {
      return turns.size;
    },
    async idle() {
      await Promise.allSettled(turns.values());
    },
  };

  function waitMsOf(ask: Ask<Native>): number {
    const { inFlight } = ask.route;
    return typeof inFlight === "object" ? inFlight.waitMs : limits.lockMsDefault;
  }
}
