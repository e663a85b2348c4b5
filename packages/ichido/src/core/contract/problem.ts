/** Problem documents (RFC 9457): the only form in which the layer itself refuses. */
import { catalogue, type IchidoErrorCode } from "./errors.ts";
import type { Resource } from "./history.ts";
import type { NeutralResponse } from "./message.ts";
import type { HeaderLine } from "./record.ts";

export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: IchidoErrorCode;
  readonly retryable: boolean;
  /** Seconds; also sent as `Retry-After`. */
  readonly retryAfter?: number;
  /** With `response-not-stored`: how the operation answered. */
  readonly originalStatus?: number;
  readonly location?: string;
  /** What the operation under this key made, told to the caller whose key it is. */
  readonly resources?: readonly Resource[];
}

export interface ProblemFormat {
  readonly problemBase: string;
  readonly docsUrl: string | undefined;
  readonly formatProblem: ((problem: Problem) => { readonly contentType: string; readonly body: string }) | undefined;
}

export interface ProblemDetails {
  readonly detail: string;
  readonly status?: number;
  readonly retryable?: boolean;
  readonly retryAfter?: number;
  readonly originalStatus?: number;
  readonly location?: string;
  readonly resources?: readonly Resource[];
}

export function problemOf(code: IchidoErrorCode, details: ProblemDetails, problemBase: string): Problem {
  const entry = catalogue[code];
  return {
    type: `${problemBase}${code}`,
    title: entry.title,
    status: entry.status,
    code,
    retryable: entry.retryable,
    ...details,
  };
}

const encoder = new TextEncoder();

export function problemResponse(problem: Problem, format: ProblemFormat): NeutralResponse {
  const { contentType, body } = format.formatProblem?.(problem) ?? {
    contentType: "application/problem+json",
    body: JSON.stringify(problem),
  };
  const headers: HeaderLine[] = [
    ["content-type", contentType],
    ["cache-control", "no-store"],
  ];
  if (problem.retryAfter !== undefined) headers.push(["retry-after", String(problem.retryAfter)]);
  if (format.docsUrl !== undefined) headers.push(["link", `<${format.docsUrl}>; rel="describedby"`]);
  return { status: problem.status, headers, body: encoder.encode(body) };
}
