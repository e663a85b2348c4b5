/** What of an answer is kept, and how a kept answer is given back. */
import type { AnswerHead, NeutralResponse } from "../contract/message.ts";
import type { Profile } from "../contract/profiles.ts";
import type { HeaderLine, StoredResponse } from "../contract/record.ts";

/**
 * What this layer alone says. From a handler, such as a gateway that passes on what another service answered, they would say
 * something untrue of this request: they neither leave nor are kept.
 */
export const layerHeaders: readonly string[] = ["idempotency-replayed", "idempotent-replayed", "idempotency-stored"];

/** RFC 9112 section 6: beside a length, by which held answers are framed, these make an answer that nobody can read. */
export const framingHeaders: readonly string[] = ["trailer", "transfer-encoding"];

/**
 * Lines that belong to one exchange or one connection, to a session, or to an outer layer that computes them anew.
 * Published in `docs/reference/http.md`.
 */
export const neverKeptHeaders: ReadonlySet<string> = new Set([
  // RFC 9110 section 7.6.1 and the framing of one message
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  ...framingHeaders,
  "upgrade",
  "content-length",
  // one moment
  "date",
  "age",
  "server-timing",
  "timing-allow-origin",
  // sessions and credentials
  "set-cookie",
  "set-cookie2",
  "authorization",
  "www-authenticate",
  "proxy-authenticate",
  "proxy-authorization",
  "authentication-info",
  "proxy-authentication-info",
  "clear-site-data",
  // one request
  "request-id",
  "x-request-id",
  "correlation-id",
  "x-correlation-id",
  "x-amzn-requestid",
  "x-amzn-trace-id",
  "x-cloud-trace-context",
  "traceparent",
  "tracestate",
  "traceresponse",
  "b3",
  "x-response-time",
  "x-runtime",
  ...layerHeaders,
]);

const neverKeptPrefixes = ["access-control-", "ratelimit", "x-ratelimit-", "x-rate-limit-", "x-b3-"];

export function isKeptHeader(name: string): boolean {
  return !neverKeptHeaders.has(name) && !neverKeptPrefixes.some((prefix) => name.startsWith(prefix));
}

/** RFC 9110 token, and field content without controls: what Node refuses to send must not be stored. */
const nameForm = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
// oxlint-disable-next-line no-control-regex -- controls are exactly what is excluded
const valueForm = /^[\t\x20-\x7e\x80-\xff]*$/;

export function isSendableHeader([name, value]: HeaderLine): boolean {
  return nameForm.test(name) && valueForm.test(value);
}

function keptHeaders(headers: readonly HeaderLine[]): readonly HeaderLine[] {
  return headers.filter((line) => isKeptHeader(line[0]) && isSendableHeader(line));
}

export function recordedOf({ status, headers, body }: NeutralResponse): StoredResponse {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  return { kind: "full", status, headers: keptHeaders(headers), body: bytes };
}

const empty = new Uint8Array(0);

export function tombstoneOf(head: AnswerHead): StoredResponse {
  const headers = keptHeaders(head.headers).filter(([name]) => name === "location" || name === "content-type");
  return { kind: "tombstone", status: head.status, headers, body: empty };
}

/** Statuses by which a handler says that it did nothing (yet): the next attempt runs. */
export const releasingStatuses: ReadonlySet<number> = new Set([401, 403, 408, 412, 413, 415, 425, 428, 429]);

/** By these lines a 402 asks for a payment instead of telling that one failed: nothing was done yet. */
const paymentChallenges: ReadonlySet<string> = new Set(["www-authenticate", "payment-required"]);

/** A 402 of x402 has its challenge in a JSON body. */
const challengeBytesMax = 64 * 1024;

function isChallenge({ headers, body }: JudgedAnswer): boolean {
  if (headers.some(([name]) => paymentChallenges.has(name))) return true;
  if (body === undefined || body.length > challengeBytesMax) return false;
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body));
    return typeof value === "object" && value !== null && "x402Version" in value && "accepts" in value;
  } catch {
    return false;
  }
}

/** An answer as `keep` sees it. There is no body of what is streamed. */
export type JudgedAnswer = AnswerHead & { readonly body?: Uint8Array };

/** The rule where no `keep` is given. */
export function keepsByDefault(profile: Pick<Profile, "keepServerErrors">): (answer: JudgedAnswer) => boolean {
  return function keepsByDefault(answer) {
    const { status } = answer;
    if (status === 402 && isChallenge(answer)) return false;
    return status >= 500 ? profile.keepServerErrors : !releasingStatuses.has(status);
  };
}

/** `open`: a server error says nothing about what was done; `onUnknown` decides. */
export type Verdict = "keep" | "release" | "open";

export function verdictOn({ status, headers, body }: JudgedAnswer, keep: (answer: JudgedAnswer) => boolean): Verdict {
  if (keep({ status, headers, ...(body && { body }) })) return "keep";
  return status >= 500 ? "open" : "release";
}

/** RFC 9110 section 15: what may end an exchange. */
export function isFinalStatus(status: number): boolean {
  return Number.isInteger(status) && status >= 200 && status <= 599;
}

/** Filtered again: a row may have been edited by hand, restored, or written by another version. */
function replayedHeaders(stored: StoredResponse): readonly HeaderLine[] {
  const headers = keptHeaders(stored.headers);
  // An answer to one caller, given again: no cache on the way may keep it, unless the handler said how.
  return headerOf(headers, "cache-control") === undefined ? [...headers, ["cache-control", "no-store"]] : headers;
}

export function replayOf(stored: StoredResponse, profile: Profile): NeutralResponse {
  return {
    status: stored.status === 201 ? profile.replayCreatedAs : stored.status,
    headers: [...replayedHeaders(stored), [profile.marker.name, profile.marker.value]],
    body: stored.body,
  };
}

export function interimOf({ status, headers, body }: StoredResponse): NeutralResponse {
  return { status, headers: keptHeaders(headers), body };
}

export function headerOf(headers: readonly HeaderLine[], name: string): string | undefined {
  return headers.find(([each]) => each === name)?.[1];
}
