/** What an answer means for the intent, and when to ask again. */
import { isReplay } from "./replay-marker.ts";

export interface ProblemDocument {
  readonly type?: string;
  readonly code?: string;
  readonly title?: string;
  readonly detail?: string;
  readonly status?: number;
  readonly retryable?: boolean;
  /** Seconds. */
  readonly retryAfter?: number;
  /** With `response-not-stored`: how the operation answered. */
  readonly originalStatus?: number;
  readonly location?: string;
}

export interface RetryOptions {
  /** Tries that may fail. Asking about a request that is still running does not count. Default 8. */
  readonly triesMax?: number;
  /** From the first try to the last answer. Default 60 000. */
  readonly deadlineMs?: number;
  /** One try, answer read to the end. Default 15 000. */
  readonly callTimeoutMs?: number;
  /** Pause before the second try, before jitter; doubles. Default 250, at most `backoffMsMax` (8 000). */
  readonly backoffMs?: number;
  readonly backoffMsMax?: number;
  /** Retries that a client may make at once, over all its requests; successes refill the budget. Default 20. */
  readonly budget?: number;
}

export const retryDefaults: Required<RetryOptions> = {
  triesMax: 8,
  deadlineMs: 60_000,
  callTimeoutMs: 15_000,
  backoffMs: 250,
  backoffMsMax: 8_000,
  budget: 20,
};

/**
 * `done` and `declined` are definitive. `refused`: definitive for this request, but the key was not used up (log in,
 * correct, and send again with the same key). `again`: ask again with the same key. `pending`: the server works on it;
 * ask again until the deadline. `open`: the outcome is unknown, and asking again will not help by itself.
 */
export type Meaning = "done" | "declined" | "refused" | "again" | "pending" | "open";

/** Ends the attempt, and with it its key. */
export const isFinal = (meaning: Meaning): boolean => meaning === "done" || meaning === "declined";

const again = [408, 425, 429];
const keyNotUsed = [401, 403, 412, 413, 415, 428];
/** Refusals by the idempotency layer itself: nothing ran, and sending the same again cannot help. */
const layerRefusals = [
  "idempotency-key-required",
  "idempotency-key-invalid",
  "idempotency-key-reused",
  "request-too-large",
  "request-unreadable",
];

/** Valid only for an answer that the service itself made. */
export function meaningOf(
  status: number,
  headers: Headers,
  problem: ProblemDocument | undefined,
  isInterim = false,
): Meaning {
  const mayRetry = problem?.retryable;
  const code = problem?.code ?? "";
  const asksToWait = headers.has("retry-after");
  // 0: a response that the browser hides from scripts (`mode: "no-cors"`, `redirect: "manual"`).
  if (status < 200) return "open";
  // A replay is final, also where the first answer asked to wait.
  if (status === 202 && (isInterim || asksToWait) && !isReplay(headers)) return "pending";
  if (status < 400) return "done";
  if (layerRefusals.includes(code)) return "refused";
  // The operation ran, only its answer is gone: the original status decides.
  if (code === "response-not-stored") return (problem?.originalStatus ?? 200) < 400 ? "done" : "declined";
  if (code === "outcome-unknown") return mayRetry === true ? "pending" : "open";
  // A stored server error is replayed for ever: the same key never gets another answer.
  if (status >= 500) return mayRetry === false || (mayRetry === undefined && isReplay(headers)) ? "open" : "again";
  if (status === 409 && (code === "idempotency-in-flight" || asksToWait) && mayRetry !== false) return "pending";
  if (mayRetry === true || (mayRetry === undefined && again.includes(status))) return "again";
  return keyNotUsed.includes(status) ? "refused" : "declined";
}

/** Seconds or a date; the date is read against the server's own clock, so that ours may be wrong. */
export function retryAfterMs(headers: Headers, nowMs: number): number | undefined {
  const value = headers.get("retry-after") ?? "";
  if (/^\d+$/.test(value)) return Number(value) * 1_000;
  const dueMs = Date.parse(value);
  if (Number.isNaN(dueMs)) return undefined;
  const serverMs = Date.parse(headers.get("date") ?? "");
  return Math.max(0, dueMs - (Number.isNaN(serverMs) ? nowMs : serverMs));
}

/** The body has it, too: a browser may read the body where it may not read the header of another origin. */
export function retryAfterIn(problem: ProblemDocument | undefined): number | undefined {
  const seconds = problem?.retryAfter;
  return typeof seconds === "number" && seconds >= 0 ? seconds * 1_000 : undefined;
}

/** Full jitter: the pause is anywhere up to the doubled bound, but never shorter than the server asked for. */
export function pauseMs(
  options: Required<RetryOptions>,
  tries: number,
  askedMs: number | undefined,
  random: number,
): number {
  const boundMs = Math.min(options.backoffMsMax, options.backoffMs * 2 ** (tries - 1));
  return askedMs === undefined ? boundMs * random : askedMs + Math.min(boundMs, 1_000) * random;
}

/** A bucket of retries, so that a broken server is not met by a storm. */
export interface RetryBudget {
  take(): boolean;
  refill(): void;
}

export function createRetryBudget(size: number): RetryBudget {
  let left = size;
  return {
    take() {
      if (left < 1) return false;
      left -= 1;
      return true;
    },
    refill() {
      left = Math.min(size, left + 0.5);
    },
  };
}
