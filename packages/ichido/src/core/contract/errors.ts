/**
 * One base class and one catalogue. `docs/reference/errors.md` lists the same codes; a test compares the two and the
 * type, both ways. Programs branch on `code`, never on a message.
 */

export interface ErrorEntry {
  /** The HTTP status where the layer answers with this error; 500 for mistakes of the program itself. */
  readonly status: number;
  /** Whether the same request may be sent again as it is. */
  readonly retryable: boolean;
  readonly title: string;
}

export const catalogue = {
  "idempotency-key-required": { status: 400, retryable: false, title: "An idempotency key is required" },
  "idempotency-key-invalid": { status: 400, retryable: false, title: "The idempotency key is not valid" },
  "idempotency-key-reused": {
    status: 422,
    retryable: false,
    title: "The idempotency key was used before with other content",
  },
  "idempotency-in-flight": {
    status: 409,
    retryable: true,
    title: "A request with this idempotency key is still running",
  },
  "outcome-unknown": {
    status: 409,
    retryable: false,
    title: "The outcome of an earlier request with this key is not known yet",
  },
  "response-not-stored": {
    status: 409,
    retryable: false,
    title: "The operation was done, but its answer was not kept",
  },
  "store-unavailable": { status: 503, retryable: true, title: "The idempotency store cannot be reached" },
  "quota-exceeded": { status: 429, retryable: true, title: "Too many idempotency keys are in use" },
  "request-too-large": { status: 413, retryable: false, title: "The request body is too large" },
  "request-unreadable": { status: 400, retryable: false, title: "The request body cannot be read" },
  "option-invalid": { status: 500, retryable: false, title: "An option of ichido is not valid" },
  "usage-invalid": { status: 500, retryable: false, title: "ichido was called in a way that cannot work" },
  "scope-missing": { status: 500, retryable: false, title: "The scope function did not say whose key it is" },
  "body-unavailable": { status: 500, retryable: false, title: "The request body is not available to ichido" },
  "value-not-serialisable": {
    status: 500,
    retryable: false,
    title: "A value cannot be stored and given back unchanged",
  },
  "message-invalid": { status: 500, retryable: false, title: "An event cannot be added or read as it is" },
  "fence-lost": { status: 409, retryable: true, title: "Another attempt owns this idempotency key" },
  "transaction-aborted": { status: 500, retryable: false, title: "The transaction was undone" },
  "commit-failed": { status: 503, retryable: true, title: "Whether the transaction was committed is not known" },
  "schema-missing": { status: 500, retryable: false, title: "The tables of ichido are missing or outdated" },
  "access-denied": { status: 500, retryable: false, title: "The database account lacks a right that ichido needs" },
  "runtime-unsupported": { status: 500, retryable: false, title: "This version of Node.js is too old for ichido" },
  "internal-error": { status: 500, retryable: false, title: "ichido met an error of its own" },
  "engine-closed": { status: 503, retryable: true, title: "This process is shutting down" },
} as const satisfies Readonly<Record<string, ErrorEntry>>;

export type IchidoErrorCode = keyof typeof catalogue;

/** From the global symbol registry, so that two copies of ichido in one program recognise each other's errors. */
const brand: unique symbol = Symbol.for("ichido.error") as never;

export class IchidoError extends Error {
  override readonly name: string = "IchidoError";
  /** What `isIchidoError` looks at. */
  readonly [brand] = true;
  readonly code: IchidoErrorCode;
  readonly status: number;
  /**
   * The name by which some frameworks look for `status`. A property, as `expose`: `http-errors` assigns to all three.
   */
  readonly statusCode: number;
  /**
   * Whether the caller may see the message, as in `http-errors`. Undefined for a 500: Nest sends the message of every
   * error that has this property, true or false, and a caller must not see what only the operator can repair.
   */
  readonly expose: boolean | undefined;
  readonly retryable: boolean;

  constructor(
    code: IchidoErrorCode,
    message: string,
    options?: { readonly cause?: unknown; readonly status?: number },
  ) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = options?.status ?? catalogue[code].status;
    this.statusCode = this.status;
    this.expose = this.status === 500 ? undefined : this.status < 500;
    this.retryable = catalogue[code].retryable;
  }
}

export function isIchidoError(value: unknown): value is IchidoError {
  return typeof value === "object" && value !== null && brand in value;
}

/**
 * A mistake in a program, most likely ours. A TypeError that a network error throws (`fetch`) has a cause, and is none.
 */
export function isDefect(error: unknown): error is Error {
  const isOfLanguage = error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
  return isOfLanguage && error.cause === undefined;
}

/** A mistake in a store: waiting would not repair it. */
export function defect(where: string, error: Error): IchidoError {
  return new IchidoError("internal-error", `${where}: ${error.name}: ${error.message}`, { cause: error });
}

/** The request cannot be fingerprinted: nothing was claimed. */
export class RequestBodyError extends IchidoError {
  override readonly name: string = "RequestBodyError";
}
