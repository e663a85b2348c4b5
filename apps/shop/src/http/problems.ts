/** Every refusal of the shop is problem+json (RFC 9457) with a stable `code`. Clients branch on `code` alone. */
import type { ErrorRequestHandler, Request, RequestHandler, Response } from "express";
import { textOf } from "../errors.ts";
import { sendAnswer, type Answer } from "./answer.ts";

export const problems = {
  validation: { status: 400, title: "The request is not valid" },
  "unknown-product": { status: 400, title: "The catalogue has no such product" },
  unauthorized: { status: 401, title: "A valid bearer token is required" },
  "card-declined": { status: 402, title: "The card was declined" },
  "refund-declined": { status: 402, title: "The refund was declined" },
  "playground-refused": { status: 403, title: "The playground is not for this caller" },
  "not-found": { status: 404, title: "There is no such resource" },
  "method-not-allowed": { status: 405, title: "The resource does not support this method" },
  "amount-mismatch": { status: 409, title: "The amount is not the order's" },
  "amount-exceeds": { status: 409, title: "The amount is more than what is left" },
  "illegal-transition": { status: 409, title: "The resource's status does not allow this" },
  "transaction-exists": { status: 409, title: "The transaction exists with other content" },
  "insufficient-funds": { status: 409, title: "The account does not have that much" },
  "balance-limit": { status: 409, title: "The account cannot hold that much" },
  "balance-changed": { status: 409, title: "The balance is not what was expected" },
  "order-exists": { status: 409, title: "The order exists with other content" },
  "precondition-failed": { status: 412, title: "The resource is not as the condition says" },
  "request-too-large": { status: 413, title: "The request body is too large" },
  "unsupported-media-type": { status: 415, title: "The request body must be application/json" },
  "precondition-required": { status: 428, title: "The request must say what it was made from" },
  "internal-error": { status: 500, title: "The shop failed to answer" },
  "gateway-unavailable": { status: 503, title: "The payment gateway cannot be reached" },
  "gateway-timeout": { status: 504, title: "The payment gateway did not answer in time" },
} as const;

export type ProblemCode = keyof typeof problems;

const RETRYABLE: ReadonlySet<ProblemCode> = new Set(["internal-error", "gateway-unavailable", "gateway-timeout"]);
const RETRY_AFTER_SECONDS = 1;

export class ShopError extends Error {
  override readonly name = "ShopError";
  readonly code: ProblemCode;
  /** More members of the problem document, such as the faults of a validation. */
  readonly members: Readonly<Record<string, unknown>>;

  constructor(code: ProblemCode, detail: string, members: Readonly<Record<string, unknown>> = {}) {
    super(detail);
    this.code = code;
    this.members = members;
  }
}

export function problemAnswer(error: ShopError): Answer {
  const { status, title } = problems[error.code];
  const retryable = RETRYABLE.has(error.code);
  return {
    status,
    headers: {
      "content-type": "application/problem+json",
      "cache-control": "no-store",
      ...(retryable ? { "retry-after": String(RETRY_AFTER_SECONDS) } : {}),
    },
    body: {
      type: `urn:ichido:shop:problem:${error.code}`,
      title,
      status,
      detail: error.message,
      code: error.code,
      retryable,
      ...error.members,
    },
  };
}

export function sendProblem(response: Response, error: ShopError): void {
  sendAnswer(response, problemAnswer(error));
}

export const unknownRoute: RequestHandler = (request) => {
  throw new ShopError("not-found", `nothing answers ${request.method} ${request.path}; GET /plain tells what does`);
};

export function allow(...methods: readonly string[]): RequestHandler {
  return (request, response) => {
    response.setHeader("Allow", methods.join(", "));
    // Within a router, `path` is what is left of it.
    const [path] = request.originalUrl.split("?", 1);
    sendProblem(response, new ShopError("method-not-allowed", `${path} takes ${methods.join(", ")}`));
  };
}

/** Last in the chain. What is not a ShopError is logged in full and told to the client in one neutral sentence. */
export function errorHandler(log: (line: string) => void): ErrorRequestHandler {
  return (error: unknown, request: Request, response: Response, next) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    const known = error instanceof ShopError ? error : bodyError(error);
    if (known === undefined) log(`${request.method} ${request.path} failed: ${textOf(error)}`);
    sendProblem(
      response,
      known ?? new ShopError("internal-error", "an unexpected error was logged; retry with the same key"),
    );
  };
}

/** The errors of Express's body parser carry a `type`. */
function bodyError(error: unknown): ShopError | undefined {
  const { type, status } = (error ?? {}) as { readonly type?: unknown; readonly status?: unknown };
  if (type === "entity.too.large") return new ShopError("request-too-large", "send a smaller body");
  if (type === "encoding.unsupported" || type === "charset.unsupported") {
    return new ShopError("unsupported-media-type", "send the body as application/json in UTF-8");
  }
  if (type === "entity.parse.failed") return new ShopError("validation", "the body is not valid JSON");
  return status === 400 ? new ShopError("validation", "the request cannot be read") : undefined;
}
