import type { AnswerLike, StepOptions } from "./options.ts";
import type { Key } from "./record.ts";
import type { TransactionHandle, TransactionRunner } from "./transaction.ts";

/** The argument of a step's function. */
export interface StepContext {
  /** The same on every attempt: send it as the provider's own idempotency key. */
  readonly reference: string;
  /** Aborts when the fence is lost. */
  readonly signal: AbortSignal;
}

export type StepFunction<Value> = (step: StepContext) => Value | Promise<Value>;

/**
 * What a protected handler gets. `Tx` is the type that the engine's `transactions` open; a handler may name no other.
 */
export interface Context<Tx = unknown> {
  readonly key: Key;
  /** 1 for the first attempt under this key. */
  readonly attempt: number;
  /**
   * Grows with every new owner of the key. A business write that remembers the greatest fence refuses a late attempt.
   */
  readonly fence: number;
  /** Aborts when the fence is lost, or when it is no longer certain that the lease holds. */
  readonly signal: AbortSignal;
  /**
   * A name for an external effect: the same on every attempt, also after the store has forgotten the record. Send it as
   * the provider's own idempotency key. At most 45 printable ASCII characters.
   */
  reference(this: void, name: string): string;
  /**
   * Makes an external call and records it: its start before, its result after. A later attempt gets the result of a
   * finished step from the record, and treats an unfinished one by `onUnknown`. The result must be plain JSON. Return
   * what the provider certainly answered, also a refusal; throw where its answer is not known.
   */
  step<Value>(this: void, name: string, fn: StepFunction<Value>): Promise<Value>;
  step<Value>(this: void, name: string, options: StepOptions<Value>, fn: StepFunction<Value>): Promise<Value>;
  /**
   * Commits business writes and the answer together, fenced: `fn` gets the transaction and returns the answer. Its body
   * passes the framework's serialisers (Nest's interceptors, Fastify's schemas, Express's JSON settings) as any answer
   * does, is stored in that commit and sent afterwards. Writing another answer is an error. Without a runner the
   * engine's `transactions` option is used.
   */
  transaction<Claimed extends Tx = Tx>(
    this: void,
    fn: (tx: Claimed, handle: TransactionHandle) => AnswerLike | Promise<AnswerLike>,
  ): Promise<AnswerLike>;
  transaction<Other>(
    this: void,
    runner: TransactionRunner<Other>,
    fn: (tx: Other, handle: TransactionHandle) => AnswerLike | Promise<AnswerLike>,
  ): Promise<AnswerLike>;
  /**
   * Stores the answer, as it is, on a transaction that you commit yourself, as its last statement. Throws when the
   * fence was lost: roll back then. After your commit, whatever the handler answers, the stored answer is sent; after a
   * rollback the attempt counts as not having happened.
   */
  complete(this: void, handle: TransactionHandle, answer: AnswerLike): Promise<void>;
  /**
   * Tells what the operation makes, by your own name for it (`"payment", id`): the person on call finds the record by it
   * and it by the record, and the same caller gets it with a 409 or a 422. The record has it from the next write of this
   * attempt on (the start or the result of a step, `unknown`, the answer), without a round trip of its own: so tell an id
   * that you know before a call before that call.
   */
  resource(this: void, kind: string, id: string | number | bigint): void;
  /**
   * Says that nothing happened: whatever the handler answers next is sent but not kept, and the next attempt runs. Only
   * the handler can know this; after an external call it is almost never true.
   */
  release(this: void): void;
  /**
   * Says that the outcome is open: the lease ends, and callers with the same key and content get this interim answer,
   * or 409, as the profile says, until the record is settled. It is sent as the answer to this request.
   */
  unknown(this: void, interim: AnswerLike): Promise<void>;
}
