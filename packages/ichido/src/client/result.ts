/** The outcome of an attempt, as a value. */
import type { Attempt } from "./attempt.ts";
import { readJson } from "./json-text.ts";
import type { ProblemDocument } from "./retry-policy.ts";

/** An answer, read to its end. */
export interface Answer {
  readonly status: number;
  readonly statusText: string;
  /** The address that answered, after redirects. */
  readonly url: string;
  readonly redirected: boolean;
  readonly headers: Headers;
  readonly bytes: Uint8Array<ArrayBuffer>;
  text(): string;
  json(): unknown;
}

interface Told {
  readonly key: string;
  /** Requests that were sent for it in this call. */
  readonly tries: number;
}

export type Result =
  /**
   * It took effect, now or before. With `problem` its answer was too large to be stored; `originalStatus` and
   * `location` describe it.
   */
  | (Told & {
      readonly kind: "done";
      readonly replayed: boolean;
      readonly answer: Answer;
      readonly problem?: ProblemDocument | undefined;
    })
  /**
   * It will not take effect as requested. `keyKept`: the key was not used up, or there is no proof that it was; correct
   * the request and send it again.
   */
  | (Told & {
      readonly kind: "declined";
      readonly answer: Answer;
      readonly problem?: ProblemDocument | undefined;
      readonly keyKept: boolean;
    })
  /** It may or may not have taken effect. Send the same attempt again later, or let a person find out. */
  | (Told & {
      readonly kind: "unknown";
      readonly attempt: Attempt;
      readonly reason: UnknownReason;
      readonly answer?: Answer | undefined;
      readonly problem?: ProblemDocument | undefined;
      readonly cause?: unknown;
    });

/**
 * Why the outcome is unknown. `expired`: the server may have forgotten the key, so that sending it again could take
 * effect twice. `server`: the server itself reports it as unknown. `unproven`: answers came, but none is evidently the
 * service's own.
 */
export type UnknownReason = "deadline" | "tries" | "budget" | "aborted" | "server" | "expired" | "unproven";

/** Throws where the body is shorter than announced: an answer that is cut in the middle is no answer. */
export async function readAnswer(response: Response): Promise<Answer> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  const { headers, status, statusText, url, redirected } = response;
  const announced = headers.get("content-length");
  // A decoded body has another length. Some implementations of fetch hand over a body that was cut, without an error.
  if (announced !== null && !headers.has("content-encoding") && bytes.length < Number(announced)) {
    throw new Error(`cut at ${bytes.length} of ${announced} bytes`);
  }
  const text = (): string => new TextDecoder().decode(bytes);
  return { status, statusText, url, redirected, headers, bytes, text, json: () => JSON.parse(text()) as unknown };
}

export function problemIn(answer: Answer): ProblemDocument | undefined {
  if (!(answer.headers.get("content-type") ?? "").includes("problem+json")) return undefined;
  const value = readJson(answer.text());
  return typeof value === "object" && value !== null ? value : undefined;
}

/**
 * "Not yet", in ichido's own form with 202. Browsers see it even where they may not read another origin's
 * `Retry-After`.
 */
export function isInterim(answer: Answer): boolean {
  if (answer.status !== 202) return false;
  const { operationId, state } = (readJson(answer.text()) ?? {}) as { operationId?: unknown; state?: unknown };
  return typeof operationId === "string" && (state === "processing" || state === "unknown");
}
