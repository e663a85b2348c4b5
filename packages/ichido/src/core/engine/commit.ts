/** Business writes and the answer in one commit, fenced; and what to believe when the commit's own answer was lost. */
import { answerOf } from "./answer.ts";
import type { Provided } from "./attempt.ts";
import { DeadlineExceeded } from "../contract/deadline.ts";
import type { EngineParts } from "./engine-parts.ts";
import { IchidoError } from "../contract/errors.ts";
import type { LeaseAttempt } from "./lease-attempt.ts";
import type { NeutralResponse } from "../contract/message.ts";
import type { AnswerLike } from "../contract/options.ts";
import { findCommitOutcome } from "./lost-commit.ts";
import { FenceLost } from "./steps.ts";
import { overdue } from "./overdue.ts";
import type { TransactionHandle, TransactionRunner } from "../contract/transaction.ts";

type Body = (tx: unknown, handle: TransactionHandle) => AnswerLike | Promise<AnswerLike>;

export interface Commit {
  /** `(fn)` or `(runner, fn)`. */
  transaction(rest: readonly unknown[]): Promise<AnswerLike>;
  complete(handle: TransactionHandle, answer: AnswerLike): Promise<void>;
  /** The answer lies on a transaction that the handler commits itself. */
  readonly pending: boolean;
  /** The answer lies on a transaction of `ctx.transaction`: resolves when its outcome is known. */
  readonly underWay: Promise<void> | undefined;
  /** The answer was written, and its transaction is not known to have ended: the record's row is locked by it. */
  readonly holdsRecord: boolean;
  /** Asks the record what became of that transaction; undefined: it was rolled back. */
  resolve(): Promise<Provided | undefined>;
}

export function createCommit(
  parts: EngineParts,
  attempt: Pick<LeaseAttempt, "ask" | "claim" | "isSettled" | "keptOf" | "news" | "provide" | "render" | "traced">,
): Commit {
  const { settings, calls, bodies } = parts;
  const { faults, storeTimeoutMs } = settings;
  const { ask, claim } = attempt;
  const runOptions = { callMs: storeTimeoutMs, idleMs: settings.executionMs, leavesOne: true };
  let used = false;
  let pending: { readonly response: NeutralResponse; readonly stored: Promise<void> } | undefined;
  let underWay: Promise<void> | undefined;
  let holdsRecord = false;

  /**
   * Answered before COMMIT is sent, never together with it: from here on the transaction has the record's row, so that
   * `landed` waits for its end. A completion still under way would let it believe that there is nothing to wait for.
   */
  async function storeOn(handle: TransactionHandle, response: NeutralResponse): Promise<void> {
    const result = await attempt.traced("idempotency.complete", {}, () =>
      calls.complete({ ...claim, response: attempt.keptOf(response), ...attempt.news }, handle),
    );
    if (result === "stale") throw new FenceLost("another attempt owns this key; this transaction must not commit");
    holdsRecord = true;
  }

  /** A body past its time loses its connection. Where the runner cannot take that away, it can only be waited for. */
  async function inTime<Made>(body: () => Promise<Made>, handle: TransactionHandle): Promise<Made> {
    const running = body();
    try {
      return await bodies.bound(running);
    } catch (error) {
      if (error instanceof DeadlineExceeded) {
        parts.emit(overdue(claim.identity.operation, bodies.timeoutMs));
        handle.giveUp?.();
      }
      return running;
    }
  }

  /**
   * A store cannot tell two answers of one owner apart: the second would be taken for the first, sent again. So there is only
   * one, and writes must not commit beside an answer that does not speak of them.
   */
  function requireUnsettled(): void {
    if (!attempt.isSettled) return;
    throw new IchidoError(
      "transaction-aborted",
      "this attempt was answered while its transaction ran: nothing of that is kept",
    );
  }

  function once(): void {
    if (used) {
      throw new IchidoError(
        "usage-invalid",
        "this attempt has already stored its answer in a transaction; there can be only one",
      );
    }
    used = true;
  }

  async function resolved(response: NeutralResponse, error?: unknown): Promise<Provided | undefined> {
    const outcome = await findCommitOutcome(parts, claim, error);
    if (outcome === "committed") return { kind: "own", response };
    if (outcome !== "not-landed") return { kind: outcome, response: await parts.answers.fromRecord(ask) };
    used = false;
    return undefined;
  }

  return {
    async transaction(rest) {
      const [runner, fn] = (rest.length > 1 ? rest : [settings.transactions, rest[0]]) as [
        TransactionRunner<unknown>,
        Body,
      ];
      if (runner === undefined) {
        throw new IchidoError(
          "usage-invalid",
          "ctx.transaction needs a runner: set the engine's option transactions, for example pgTransactions(pool)",
        );
      }
      once();
      let answer: AnswerLike | undefined;
      let response: NeutralResponse | undefined;
      const ended = Promise.withResolvers<void>();
      /** Given up, while the body went on: another transaction may be under way by the time that it ends. */
      let isOver = false;
      try {
        const body = async (tx: unknown, handle: TransactionHandle): Promise<void> => {
          const [made, serialised] = await inTime(async () => {
            const returned = await fn(tx, handle);
            return [returned, await attempt.render(returned)] as const;
          }, handle);
          requireUnsettled();
          if (isOver) throw new IchidoError("transaction-aborted", "this transaction was given up while its body ran");
          underWay = ended.promise;
          answer = made;
          response = serialised;
          await storeOn(handle, serialised);
          await faults?.("before-commit");
        };
        await calls.begin(runner, body, runOptions);
        await faults?.("after-commit");
      } catch (error) {
        if (error instanceof FenceLost) throw error;
        if (response === undefined) {
          used = false;
          throw error;
        }
        const made = await resolved(response, error);
        if (made === undefined) throw error;
        attempt.provide(made);
        if (made.kind !== "own") throw error;
        return answer as AnswerLike;
      } finally {
        isOver = true;
        underWay = undefined;
        holdsRecord = false;
        ended.resolve();
      }
      attempt.provide({ kind: "own", response: response as unknown as NeutralResponse });
      return answer as unknown as AnswerLike;
    },
    async complete(handle, answer) {
      requireUnsettled();
      const response = answerOf(answer);
      once();
      const stored = storeOn(handle, response);
      pending = { response, stored };
      await stored;
    },
    get pending() {
      return pending !== undefined;
    },
    get underWay() {
      return underWay;
    },
    get holdsRecord() {
      return holdsRecord;
    },
    async resolve() {
      const made = pending;
      pending = undefined;
      if (made === undefined) return undefined;
      // Before it is answered, the record's row is not locked, and the question would come too early.
      await made.stored.catch(() => undefined);
      try {
        return await resolved(made.response);
      } finally {
        holdsRecord = false;
      }
    },
  };
}
