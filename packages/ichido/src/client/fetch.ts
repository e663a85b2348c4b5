/** `fetch` with a key: same call, same `Response`, and one effect. */
import type { Attempt, Attempts } from "./attempt.ts";
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
  /** `attempts.create(name, payload)`: one intent, one key, across calls and reloads. */
  readonly attempts: Attempts;
}

export type FetchOptions = Omit<ClientOptions, "baseUrl" | "headers" | "settings">;

const keyed = ["POST", "PATCH"];

/** Undefined where the platform makes none of that status: 0 of an answer hidden from scripts, 600 and more. */
function lastResponseOf(answer: Answer | undefined): Response | undefined {
  return answer !== undefined && answer.status >= 200 && answer.status < 600 ? responseOf(answer) : undefined;
}

function responseOf(answer: Answer): Response {
  const { bytes, status, statusText, headers, url } = answer;
  const response = new Response(bytes.length > 0 ? bytes : null, { status, statusText, headers });
  return Object.defineProperty(response, "url", { value: url });
}

/** Undefined for a form: its boundary differs every time, so it is not compared. */
async function contentOf(request: Request, bytes: ArrayBuffer): Promise<string | undefined> {
  if (request.headers.get("content-type")?.startsWith("multipart/") === true) return undefined;
  return payloadHash([request.method, request.url, new TextDecoder().decode(bytes)]);
}

export function createFetch(options: FetchOptions = {}): IdempotentFetch {
  const parts: ClientParts = createParts(options);

  /** The attempt of one call: made now, stored nowhere. Nothing was sent under its key before. */
  const passing = (key: string): Attempt => ({
    name: `call:${key}`,
    key,
    bornAtMs: parts.clock.nowMs(),
    resumed: false,
  });

  const passingParts: ClientParts = {
    ...parts,
    attempts: { ...parts.attempts, markSent: async () => ({ sends: 0 }), settle: async () => true },
  };

  async function send(input: string | URL | Request, init: IdempotentInit = {}): Promise<Response> {
    const { attempt: given, retry, ...plain } = init;
    const fetchNow = options.fetch ?? globalThis.fetch;
    const method = (plain.method ?? (input instanceof Request ? input.method : "GET")).toUpperCase();
    const carries = given === undefined ? keyed.includes(method) : method !== "GET" && method !== "HEAD";
    if (!carries) return fetchNow(input, plain);

    const request = new Request(
      input,
      plain.body instanceof ReadableStream ? ({ duplex: "half", ...plain } as RequestInit) : plain,
    );
    const bytes = await request.arrayBuffer();
    const headers = new Headers(request.headers);
    const own = headers.get(parts.headerOf({ key: "" })[0]);
    const attempt: Attempt =
      own === null
        ? (given ?? passing(await parts.newKey(new Uint8Array(bytes))))
        : { ...passing(own), verbatim: true };
    headers.set(...parts.headerOf(attempt));
    const result = await deliver(attempt === given ? parts : passingParts, {
      attempt,
      // Its settings are used again; its body was read already, and every try gets a new one.
      url: request,
      // An empty body is one, too: without one of its own, a try would use that of the request, which was read.
      init: { method, headers, body: request.bodyUsed ? bytes : null },
      content: given === undefined ? undefined : await contentOf(request, bytes),
      retry: resolveRetry(options.retry, retry),
      signal: request.signal,
    });
    if (result.kind !== "unknown") return responseOf(result.answer);
    if (result.tries === 0 && result.reason === "aborted") throw request.signal.reason;
    throw new UnknownOutcomeError({ ...result, response: lastResponseOf(result.answer) });
  }

  return Object.assign(send, { attempts: parts.attempts });
}

let shared: IdempotentFetch | undefined;

/** `createFetch()` with its defaults, made at first use. Attempts come from a client, or from a fetch of your own. */
export function idempotentFetch(input: string | URL | Request, init?: IdempotentInit): Promise<Response> {
  return (shared ??= createFetch())(input, init);
}
