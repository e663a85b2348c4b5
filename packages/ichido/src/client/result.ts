/** What came of an attempt, as a value. */
import type { Attempt } from "./attempt.ts";
import type { ProblemDocument } from "./retry-policy.ts";

/** An answer, read to its end. */
export interface Answer {
  readonly status: number;
  readonly statusText: string;
  /** Where it came from, after redirects. */
  readonly url: string;
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
  /** It took effect, now or before. `problem`: it did, but its answer was too large to be kept; `originalStatus` and `location` tell. */
  | (Told & {
      readonly kind: "done";
      readonly replayed: boolean;
      readonly answer: Answer;
      readonly problem?: ProblemDocument | undefined;
    })
  /** It will not take effect as it was asked for. `keyKept`: correct what is wrong and send again with the same attempt. */
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
 * Why nobody knows. `expired`: the server may have forgotten the key, so that sending it again could do it twice.
 * `server`: the server itself says so.
 */
export type UnknownReason = "deadline" | "tries" | "budget" | "aborted" | "server" | "expired";

/** Throws where the body is shorter than announced: an answer that is cut in the middle is no answer. */
export async function readAnswer(response: Response): Promise<Answer> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  const { headers, status, statusText, url } = response;
  const announced = headers.get("content-length");
  // A decoded body has another length; some implementations of fetch hand over what arrived without complaint.
  if (announced !== null && !headers.has("content-encoding") && bytes.length < Number(announced)) {
    throw new Error(`cut at ${bytes.length} of ${announced} bytes`);
  }
  const text = (): string => new TextDecoder().decode(bytes);
  return { status, statusText, url, headers, bytes, text, json: () => JSON.parse(text()) as unknown };
}

export function problemIn(answer: Answer): ProblemDocument | undefined {
  if (!(answer.headers.get("content-type") ?? "").includes("problem+json")) return undefined;
  try {
    const value = answer.json();
    return typeof value === "object" && value !== null ? (value as ProblemDocument) : undefined;
  } catch {
    return undefined;
  }
}
