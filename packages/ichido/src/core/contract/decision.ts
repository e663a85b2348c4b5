/**
 * What the engine asks an adapter to do, and what the adapter reports back. Adapters know nothing else about records.
 */
import type { Context } from "./context.ts";
import type { NeutralResponse } from "./message.ts";
import type { AnswerLike } from "./options.ts";
import type { HeaderLine } from "./record.ts";

export type Decision<Tx = unknown> =
  /** Not protected (method, no key where none is needed, observe mode): call the handler, touch nothing. */
  | { readonly kind: "pass" }
  /**
   * Call the handler with `execution.context`, capture its answer, hand it to the execution, send what that returns.
   */
  | { readonly kind: "execute"; readonly execution: Execution<Tx> }
  /** Send this answer; do not call the handler. */
  | { readonly kind: "replay"; readonly response: NeutralResponse }
  /** Send this problem; do not call the handler. */
  | { readonly kind: "reject"; readonly response: NeutralResponse };

/** How the handler ended. */
export type HandlerOutcome =
  | { readonly kind: "answered"; readonly response: NeutralResponse }
  /** The framework makes, or has made, the error answer; only the fact that the handler threw matters here. */
  | { readonly kind: "threw"; readonly error: unknown }
  /** The connection closed during a half-written answer, and the handler stopped writing. */
  | { readonly kind: "interrupted" };

export type Settled =
  /** Send the captured answer with these lines added (`Idempotency-Stored: false` where recording failed). */
  | { readonly kind: "send"; readonly addHeaders: readonly HeaderLine[] }
  /** Send this instead of what the handler wrote (the fence was lost: the record's answer counts). */
  | { readonly kind: "replace"; readonly response: NeutralResponse };

export interface Presenter {
  present(answer: AnswerLike): boolean;
}

export interface Execution<Tx = unknown> {
  readonly context: Context<Tx>;
  /** Past this many body bytes an answer is streamed, not held. */
  readonly bodyBytesMax: number;
  /**
   * Calls the listener when the context itself made the answer (`ctx.transaction`, `ctx.unknown`), also where it has
   * been made already, and never before this returns: send it verbatim, at once; the record is already written. `settle`
   * may still be called and then answers `replace`.
   */
  onProvided(listener: (answer: NeutralResponse) => void): void;
  /**
   * Set by an adapter whose framework serialises: lets the framework send this answer, as if the handler had sent it.
   * What the framework writes is then settled like any answer. False where the framework cannot.
   */
  presenter?: Presenter | undefined;
  /** Exactly once, unless `beginStream` was called. Never rejects. */
  settle(outcome: HandlerOutcome): Promise<Settled>;
  /**
   * The answer cannot be held (past the cap, flushed, event stream): the tombstone is stored first, then bytes may go
   * live. Exactly once, instead of `settle`. Never rejects; `replace` means the fence was lost before anything was
   * sent.
   */
  beginStream(head: { readonly status: number; readonly headers: readonly HeaderLine[] }): Promise<Settled>;
}
