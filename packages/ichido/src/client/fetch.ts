/** `fetch` with a key: same call, same `Response`, and one effect. */
import type { Attempt } from "./attempt.ts";
import { createParts, type ClientOptions, type ClientParts } from "./client.ts";
import { resolveRetry } from "./client-options.ts";
import { deliver } from "./delivery.ts";
import { UnknownOutcomeError } from "./errors.ts";
import { payloadHash } from "./key-source.ts";
import type { Answer } from "./result.ts";
import type { RetryOptions } from "./retry-policy.ts";

export interface IdempotentInit extends RequestInit {
  /** From `createAttempt`: survives reloads. Without one the key lives as long as this call. */
  readonly attempt?: Attempt;
  readonly retry?: RetryOptions;
}

export interface IdempotentFetch {
  /**
   * POST and PATCH get a key and are retried under it; so does any other method with an `attempt`. A key header of your
   * own is left alone. Everything else is plain `fetch`. Throws `UnknownOutcomeError` where the outcome is not known.
   */
  (input: string | URL | Request, init?: IdempotentInit): Promise<Response>;
  /** As on a client: one intent, one key, across calls and reloads. */
  createAttempt(name: string, payload: unknown): Promise<Attempt>;
  startOver(name: string): Promise<void>;
}

export type FetchOptions = Omit<ClientOptions, "baseUrl" | "headers" | "settings">;

const keyed = new Set(["POST", "PATCH"]);
const bodyless = new Set([101, 204, 205, 304]);

function responseOf(answer: Answer): Response {
  const { bytes, status, statusText, headers, url } = answer;
  const response = new Response(bodyless.has(status) ? null : bytes, { status, statusText, headers });
  return Object.defineProperty(response, "url", { value: url });
}

/** The content by meaning where it can be told; the boundary of a form differs every time. */
async function contentOf(request: Request, bytes: ArrayBuffer): Promise<string | undefined> {
  const type = request.headers.get("content-type") ?? "";
  if (type.startsWith("multipart/")) return undefined;
  const text = new TextDecoder().decode(bytes);
  let content: unknown = text;
  if (type.includes("json")) {
    try {
      content = JSON.parse(text);
    } catch {
      // Not for us to refuse: compared as text.
    }
  }
  return payloadHash([request.method, request.url, content]);
}

/** Settings of the request itself; `mode: "navigate"` cannot be asked for again. */
function settingsOf(request: Request): RequestInit {
  const { cache, credentials, integrity, keepalive, mode, redirect, referrer, referrerPolicy } = request;
  return {
    cache,
    credentials,
    integrity,
    keepalive,
    redirect,
    referrer,
    referrerPolicy,
    ...(mode === "navigate" ? {} : { mode }),
  };
}

export function createFetch(options: FetchOptions = {}): IdempotentFetch {
  const parts: ClientParts = createParts(options);
  resolveRetry(options.retry);

  /** One call: made now, kept nowhere. */
  const passing = async (payload: ArrayBuffer): Promise<Attempt> => {
    const bornAtMs = parts.clock.nowMs();
    const key = await parts.newKey(new Uint8Array(payload));
    return { name: `call:${key}`, key, bornAtMs, resumed: false };
  };

  async function send(input: string | URL | Request, init: IdempotentInit = {}): Promise<Response> {
    const { attempt: given, retry, ...plain } = init;
    const fetchNow = options.fetch ?? globalThis.fetch;
    const method = (plain.method ?? (input instanceof Request ? input.method : "GET")).toUpperCase();
    const mayCarry = method !== "GET" && method !== "HEAD";
    if (!mayCarry || !(keyed.has(method) || given !== undefined)) return fetchNow(input, plain);

    const request = new Request(
      input,
      plain.body instanceof ReadableStream ? ({ duplex: "half", ...plain } as RequestInit) : plain,
    );
    const bytes = await request.arrayBuffer();
    const headers = new Headers(request.headers);
    const [headerName] = parts.headerOf("");
    const own = headers.get(headerName);
    const attempt: Attempt =
      own === null
        ? (given ?? (await passing(bytes)))
        : { name: `call:${own}`, key: own, bornAtMs: parts.clock.nowMs(), resumed: false };
    if (own === null) headers.set(...parts.headerOf(attempt.key));
    const result = await deliver(parts, {
      attempt,
      url: request.url,
      init: { ...settingsOf(request), method, headers, body: bytes.byteLength === 0 ? null : bytes },
      content: given === undefined ? undefined : await contentOf(request, bytes),
      retry: resolveRetry(options.retry, retry),
      signal: request.signal,
    });
    if (result.kind !== "unknown") return responseOf(result.answer);
    if (result.tries === 0 && result.reason === "aborted") throw request.signal.reason;
    const response = result.answer && responseOf(result.answer);
    throw new UnknownOutcomeError({ ...result, response });
  }

  return Object.assign(send, {
    createAttempt: (name: string, payload: unknown) => parts.attempts.create(name, payload),
    startOver: (name: string) => parts.attempts.startOver(name),
  });
}

let shared: IdempotentFetch | undefined;
const sharedFetch = (): IdempotentFetch => (shared ??= createFetch());

/** `createFetch()` with its defaults, made at first use. */
export const idempotentFetch: IdempotentFetch = /* @__PURE__ */ Object.assign(
  (input: string | URL | Request, init?: IdempotentInit) => sharedFetch()(input, init),
  {
    createAttempt: (name: string, payload: unknown) => sharedFetch().createAttempt(name, payload),
    startOver: (name: string) => sharedFetch().startOver(name),
  },
);
