/** Business writes and the answer in one commit, fenced; and what to believe when the commit's own answer was lost. */
import { answerOf } from "./answer.ts";
import { sleep } from "./deadline.ts";
import type { Environment } from "./environment.ts";
import { IchidoError } from "./errors.ts";
import type { FaultPoint } from "./faults.ts";
import type { NeutralResponse } from "./message.ts";
import type { AnswerLike } from "./options.ts";
import { recordedOf, tombstoneOf } from "./recorder.ts";
import { FenceLost } from "./steps.ts";
import type { Claim, ClaimResult, CompleteRequest } from "./store.ts";
import type { StoreCalls } from "./store-calls.ts";
import type { TransactionHandle, TransactionRunner } from "./transaction.ts";

type Body = (tx: unknown, handle: TransactionHandle) => AnswerLike | Promise<AnswerLike>;

/** How the context itself answered, if it did. */
export type Provided =
  | { readonly kind: "own"; readonly response: NeutralResponse }
  | { readonly kind: "open" | "lost"; readonly response: NeutralResponse };

export interface Commit {
  /** `(fn)` or `(runner, fn)`. */
  transaction(rest: readonly unknown[]): Promise<AnswerLike>;
  complete(handle: TransactionHandle, answer: AnswerLike): Promise<void>;
  /** The answer lies on a transaction that the handler commits itself. */
  readonly pending: boolean;
  /** Asks the record what became of that transaction; undefined: it was rolled back. */
  resolve(): Promise<Provided | undefined>;
  /** A transaction of this attempt was rolled back, and none was committed. */
  readonly rolledBack: boolean;
}

/** How often the record is asked before the outcome counts as open, with a pause in between. */
const asksMax = 5;
const askPauseMs = 100;

export function createCommit(parts: {
  readonly claim: Claim;
  readonly calls: Pick<StoreCalls, "complete">;
  readonly transactions: TransactionRunner<unknown> | undefined;
  readonly environment: Environment;
  readonly faults: FaultPoint | undefined;
  readonly bodyBytesMax: number;
  readonly reclaim: () => Promise<ClaimResult>;
  readonly truth: () => Promise<NeutralResponse>;
  readonly provide: (made: Provided) => void;
}): Commit {
  const { claim, environment, faults } = parts;
  let used = false;
  let pending: NeutralResponse | undefined;
  let rolledBack = false;

  function completion(response: NeutralResponse): CompleteRequest {
    const stored = response.body.length > parts.bodyBytesMax ? tombstoneOf(response) : recordedOf(response);
    return { ...claim, response: stored };
  }

  /**
   * Answered before COMMIT is sent, never together with it: from here on the transaction has the record's row, so that a
   * claim which asks for its fate waits for its end. A completion still under way would let that claim believe it undone.
   */
  async function storeOn(handle: TransactionHandle, response: NeutralResponse): Promise<void> {
    const result = await parts.calls.complete(completion(response), handle);
    if (result === "stale") throw new FenceLost("another attempt owns this key; this transaction must not commit");
  }

  /**
   * A claim with the same owner waits for the row and so for the transaction that may still be committing: `completed`
   * under our fence means it took effect, a grant means it did not and never will.
   */
  async function fate(): Promise<"committed" | "rolled-back" | "lost"> {
    for (let ask = 1; ; ask += 1) {
      try {
        const result = await parts.reclaim();
        if (result.outcome === "completed") return result.fence === claim.fence ? "committed" : "lost";
        if (result.outcome === "granted") return result.fence === claim.fence ? "rolled-back" : "lost";
        // Somebody holds the row: our own transaction, still ending, or a successor that answers the same again.
        if (result.outcome !== "processing" || ask >= asksMax) return "lost";
      } catch (error) {
        if (ask >= asksMax) throw error;
      }
      await sleep(environment, askPauseMs * ask);
    }
  }

  function once(): void {
    if (used) {
      throw new IchidoError(
        "option-invalid",
        "this attempt has already stored its answer in a transaction; there can be only one",
      );
    }
    used = true;
  }

  async function resolved(response: NeutralResponse): Promise<Provided | undefined> {
    const outcome = await fate();
    if (outcome === "committed") return { kind: "own", response };
    if (outcome === "lost") return { kind: "lost", response: await parts.truth() };
    rolledBack = true;
    return undefined;
  }

  return {
    async transaction(rest) {
      const [runner, fn] = (rest.length > 1 ? rest : [parts.transactions, rest[0]]) as [
        TransactionRunner<unknown>,
        Body,
      ];
      if (runner === undefined) {
        throw new IchidoError(
          "option-invalid",
          "ctx.transaction needs a runner: set the engine's option transactions, for example pgTransactions(pool)",
        );
      }
      once();
      let answer: AnswerLike | undefined;
      let response: NeutralResponse | undefined;
      try {
        await runner.run(async (tx, handle) => {
          const made = await fn(tx, handle);
          const serialised = answerOf(made);
          answer = made;
          response = serialised;
          await storeOn(handle, serialised);
          await faults?.("before-commit");
        });
        await faults?.("after-commit");
      } catch (error) {
        if (error instanceof FenceLost) throw error;
        used = false;
        if (response === undefined) {
          rolledBack = true;
          throw error;
        }
        const made = await resolved(response);
        if (made === undefined) throw error;
        parts.provide(made);
        if (made.kind === "lost") throw error;
        return answer as AnswerLike;
      }
      parts.provide({ kind: "own", response: response as unknown as NeutralResponse });
      return answer as unknown as AnswerLike;
    },
    async complete(handle, answer) {
      once();
      const response = answerOf(answer);
      pending = response;
      await storeOn(handle, response);
    },
    get pending() {
      return pending !== undefined;
    },
    async resolve() {
      const response = pending;
      pending = undefined;
      return response === undefined ? undefined : resolved(response);
    },
    get rolledBack() {
      return rolledBack;
    },
  };
}
