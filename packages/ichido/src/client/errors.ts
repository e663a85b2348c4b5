/** Errors of the client. Outcomes of requests are values; these are mistakes in how the client is used. */
import type { Attempt } from "./attempt.ts";
import type { UnknownReason } from "./result.ts";

export type ClientErrorCode =
  | "attempt-changed"
  | "attempt-missing"
  | "key-invalid"
  | "option-invalid"
  | "outcome-unknown"
  | "payload-unhashable"
  | "storage-failed";

export class ClientError extends Error {
  override readonly name: string = "ClientError";
  readonly code: ClientErrorCode;
  constructor(code: ClientErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/**
 * What `createFetch` throws where no `Response` would be true: the request may or may not have taken effect. Send
 * `attempt` again later, or let a person find out; with a new key it could take effect twice.
 */
export class UnknownOutcomeError extends ClientError {
  override readonly name: string = "UnknownOutcomeError";
  declare readonly attempt: Attempt;
  declare readonly key: string;
  declare readonly reason: UnknownReason;
  /** The last answer, where there was one that a `Response` can be: its status is from 200 to 599. */
  declare readonly response: Response | undefined;
  constructor(told: {
    readonly attempt: Attempt;
    readonly reason: UnknownReason;
    readonly tries: number;
    readonly response?: Response | undefined;
    readonly cause?: unknown;
  }) {
    super(
      "outcome-unknown",
      `the outcome is unknown after ${told.tries} tries (${told.reason}). Send error.attempt again; ` +
        "a new key could do it twice",
      told,
    );
    const { attempt, reason, response } = told;
    Object.assign(this, { attempt, key: attempt.key, reason, response });
  }
}
