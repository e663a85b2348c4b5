/** Sends an attempt until its outcome is known, or until it must be said that it is not. */
import { createAttempts, type Attempt, type Attempts } from "./attempt.ts";
import { ClientError } from "./errors.ts";
import type { KeySource } from "./key-source.ts";
import { readPolicy, type ServerPolicy } from "./policy.ts";
import {
  createRetryBudget,
  meaningOf,
  pauseMs,
  retryAfterMs,
  retryDefaults,
  type ProblemDocument,
  type RetryOptions,
} from "./retry-policy.ts";
import { tabStorage, type AttemptStorage } from "./storage.ts";

/** An answer, read to its end. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  text(): string;
  json(): unknown;
}

interface Told {
  readonly key: string;
  /** Requests that were sent for it in this call. */
  readonly tries: number;
}

export type Result =
  /** It took effect, now or before. */
  | (Told & { readonly kind: "done"; readonly replayed: boolean; readonly answer: Answer })
  /** It will not take effect as it was asked for. `keyKept`: correct what is wrong and send again with the same attempt. */
  | (Told & {
      readonly kind: "declined";
      readonly answer: Answer;
      readonly problem?: ProblemDocument;
      readonly keyKept: boolean;
    })
  /** It may or may not have taken effect. Send the same attempt again later, or let a person find out. */
  | (Told & {
      readonly kind: "unknown";
      readonly attempt: Attempt;
      readonly reason: UnknownReason;
      readonly answer?: Answer;
      readonly cause?: unknown;
    });

export type UnknownReason = "deadline" | "tries" | "budget" | "aborted" | "server" | "expired";

export interface SendOptions {
  readonly attempt: Attempt;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Anything `fetch` can send more than once; not a stream. */
  readonly body?: string | Uint8Array | ArrayBuffer | Blob | FormData | URLSearchParams;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly retry?: RetryOptions;
  /** Told before every pause, for "still trying". */
  readonly onRetry?: (told: { readonly tries: number; readonly pauseMs: number }) => void;
}

export interface ClientOptions {
  readonly baseUrl?: string;
  readonly fetch?: typeof globalThis.fetch;
  readonly retry?: RetryOptions;
  /** Default: this tab, across reloads; memory outside browsers. */
  readonly storage?: AttemptStorage;
  readonly keys?: KeySource;
  readonly headers?: Readonly<Record<string, string>>;
  /** How long the server remembers keys, where its policy is not read. Default a day. */
  readonly retentionMs?: number;
  /** For tests. */
  readonly clock?: ClientClock;
}

export interface ClientClock {
  nowMs(): number;
  random(): number;
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void>;
}

export interface Client {
  createAttempt(name: string, payload: unknown): Promise<Attempt>;
  startOver(name: string): Promise<void>;
  send(method: "POST" | "PATCH" | "PUT" | "DELETE", path: string, options: SendOptions): Promise<Result>;
  post(path: string, options: SendOptions): Promise<Result>;
  patch(path: string, options: SendOptions): Promise<Result>;
  /** Reads `/.well-known/idempotency` once: header, form and retention are then the server's own. */
  readPolicy(): Promise<ServerPolicy>;
  readonly attempts: Attempts;
}

const dayMs = 86_400_000;

const systemClock: ClientClock = {
  nowMs: () => Date.now(),
  random: () => Math.random(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      const timer = setTimeout(done, ms);
      function done(): void {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        resolve();
      }
      signal?.addEventListener("abort", done);
    }),
};

function answerOf(response: Response, bytes: Uint8Array): Answer {
  const text = (): string => new TextDecoder().decode(bytes);
  return { status: response.status, headers: response.headers, bytes, text, json: () => JSON.parse(text()) as unknown };
}

function problemIn(answer: Answer): ProblemDocument | undefined {
  if (!(answer.headers.get("content-type") ?? "").includes("problem+json")) return undefined;
  try {
    return answer.json() as ProblemDocument;
  } catch {
    return undefined;
  }
}

/** A function, because the signal may change between two looks. */
function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

export function createClient(options: ClientOptions = {}): Client {
  const clock = options.clock ?? systemClock;
  const attempts = createAttempts({
    storage: options.storage ?? tabStorage(),
    nowMs: () => clock.nowMs(),
    ...(options.keys && { keys: options.keys }),
  });
  const defaults = { ...retryDefaults, ...options.retry };
  const budget = createRetryBudget(defaults.budget);
  let policy: Promise<ServerPolicy> | undefined;
  let known: ServerPolicy | undefined;

  const urlOf = (path: string): string => (options.baseUrl === undefined ? path : new URL(path, options.baseUrl).href);

  /** The whole answer or an error: an answer that is cut in the middle is no answer. */
  async function once(
    url: string,
    init: RequestInit,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Answer> {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
    const stop = (): void => limit.abort(signal?.reason);
    signal?.addEventListener("abort", stop);
    try {
      const response = await (options.fetch ?? globalThis.fetch)(url, { ...init, signal: limit.signal });
      return answerOf(response, new Uint8Array(await response.arrayBuffer()));
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    }
  }

  function requestOf(method: string, sending: SendOptions): RequestInit {
    const headers = new Headers({ ...options.headers, ...sending.headers });
    const { key } = sending.attempt;
    headers.set(known?.header ?? "Idempotency-Key", known?.quoted === true ? `"${key}"` : key);
    if (sending.json === undefined) return { method, headers, body: (sending.body ?? null) as BodyInit | null };
    if (!headers.has("content-type")) headers.set("content-type", "application/json");
    return { method, headers, body: JSON.stringify(sending.json) };
  }

  async function send(method: string, path: string, sending: SendOptions): Promise<Result> {
    const { attempt, signal } = sending;
    if (attempt?.key === undefined) {
      throw new ClientError("attempt-missing", "pass an attempt: await client.createAttempt(name, payload)");
    }
    const retry = { ...defaults, ...sending.retry };
    const startedMs = clock.nowMs();
    let tries = 0;
    let answer: Answer | undefined;
    let cause: unknown;
    const unknown = (reason: UnknownReason): Result => ({
      kind: "unknown",
      reason,
      attempt: { ...attempt, resumed: attempt.resumed || tries > 0 },
      key: attempt.key,
      tries,
      ...(answer && { answer }),
      ...(cause === undefined ? {} : { cause }),
    });

    // Past its retention the server runs the key as new: asking again could do it twice.
    const retentionMs = known?.retentionMs ?? options.retentionMs ?? dayMs;
    if (attempt.resumed && startedMs - attempt.bornAtMs >= retentionMs) return unknown("expired");
    await attempts.markSent(attempt);

    const url = urlOf(path);
    const init = requestOf(method, sending);
    for (;;) {
      const leftMs = retry.deadlineMs - (clock.nowMs() - startedMs);
      if (isAborted(signal)) return unknown("aborted");
      tries += 1;
      answer = undefined;
      let askedMs: number | undefined;
      try {
        answer = await once(url, init, Math.max(1, Math.min(retry.timeoutMs, leftMs)), signal);
      } catch (error) {
        cause = error;
      }
      if (answer !== undefined) {
        const problem = problemIn(answer);
        const meaning = meaningOf(answer.status, answer.headers, problem);
        const told = { key: attempt.key, tries };
        if (meaning === "done") {
          await attempts.settle(attempt);
          budget.refill();
          return { ...told, kind: "done", replayed: isReplay(answer), answer };
        }
        if (meaning === "declined" || meaning === "refused") {
          const keyKept = meaning === "refused";
          if (!keyKept) await attempts.settle(attempt);
          return { ...told, kind: "declined", answer, keyKept, ...(problem && { problem }) };
        }
        if (meaning === "open") return unknown("server");
        askedMs = retryAfterMs(answer.headers, clock.nowMs());
      }
      if (isAborted(signal)) return unknown("aborted");
      if (tries >= retry.tries) return unknown("tries");
      const waitMs = pauseMs(retry, tries, askedMs, clock.random());
      if (clock.nowMs() - startedMs + waitMs >= retry.deadlineMs) return unknown("deadline");
      if (!budget.take()) return unknown("budget");
      sending.onRetry?.({ tries, pauseMs: waitMs });
      await clock.sleep(waitMs, signal);
    }
  }

  function isReplay(answer: Answer): boolean {
    const { headers } = answer;
    return headers.get("idempotency-replayed") === "true" || headers.get("idempotent-replayed") === "true";
  }

  return {
    attempts,
    createAttempt: (name, payload) => attempts.create(name, payload),
    startOver: (name) => attempts.startOver(name),
    send,
    post: (path, sending) => send("POST", path, sending),
    patch: (path, sending) => send("PATCH", path, sending),
    readPolicy() {
      policy ??= once(
        urlOf("/.well-known/idempotency"),
        { headers: { accept: "application/json" } },
        defaults.timeoutMs,
        undefined,
      )
        .then((answer) => {
          if (answer.status !== 200) throw new Error(`the server publishes no policy (${answer.status})`);
          known = readPolicy(answer.json());
          return known;
        })
        .catch((error: unknown) => {
          policy = undefined;
          throw error;
        });
      return policy;
    },
  };
}
