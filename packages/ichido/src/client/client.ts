/** The client: attempts, and their delivery to one server. */
import { createAttempts, type Attempt, type Attempts } from "./attempt.ts";
import {
  expectFunction,
  expectNames,
  expectOption,
  expectWhole,
  msMax,
  resolveRetry,
  urlOf,
} from "./client-options.ts";
import { systemClock, type ClientClock } from "./clock.ts";
import { ask, deliver, type Delivery, type DeliveryParts } from "./delivery.ts";
import { ClientError } from "./errors.ts";
import type { IsAnswer } from "./evidence.ts";
import { checkKey, headerText } from "./key-form.ts";
import { payloadHash, uuidV4, uuidV7, type KeySource } from "./key-source.ts";
import { readPolicy, type ServerPolicy } from "./policy.ts";
import type { Result } from "./result.ts";
import { createRetryBudget, type RetryOptions } from "./retry-policy.ts";
import { tabStorage, type AttemptStorage } from "./storage.ts";

/** Settings of `fetch` that the client does not set itself, such as `credentials`. */
export type FetchSettings = Omit<RequestInit, "method" | "headers" | "body" | "signal">;

export interface SendOptions {
  readonly attempt: Attempt;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Anything `fetch` can send more than once; not a stream. */
  readonly body?: string | Uint8Array | ArrayBuffer | Blob | FormData | URLSearchParams;
  readonly headers?: Readonly<Record<string, string>>;
  readonly settings?: FetchSettings;
  readonly signal?: AbortSignal;
  readonly retry?: RetryOptions;
  /** Called before every pause, to show "still trying". */
  readonly onRetry?: (told: { readonly tries: number; readonly pauseMs: number }) => void;
}

export interface ClientOptions {
  /** Paths are below it: `https://api.example.com/v1` and `/payments` make `/v1/payments`. */
  readonly baseUrl?: string;
  readonly fetch?: typeof globalThis.fetch;
  readonly retry?: RetryOptions;
  /** Default: this tab, across reloads; memory outside browsers. */
  readonly storage?: AttemptStorage;
  /** Makes the keys. Default `uuidV7`, or `uuidV4` where the server's policy was read and asks for it. */
  readonly keys?: KeySource;
  readonly headers?: Readonly<Record<string, string>>;
  readonly settings?: FetchSettings;
  /** How long the server remembers keys, where its policy does not say. Default a day. */
  readonly retentionMs?: number;
  /**
   * How long a done attempt is remembered, so that the same intent gets the same answer. Default a day; 0: not at all.
   */
  readonly rememberMs?: number | undefined;
  /**
   * Whether the service itself made an answer that would end an attempt: `true` or `false`, or `undefined` for the
   * client's own rule. For services without a replay marker, and for those that answer with redirects or pages.
   */
  readonly isAnswer?: IsAnswer | undefined;
  /** Called for keys that look like personal data. Default `console.warn`. */
  readonly onWarning?: (message: string) => void;
  /** For tests. */
  readonly clock?: ClientClock;
}

export interface Client {
  createAttempt(name: string, payload: unknown): Promise<Attempt>;
  startOver(name: string): Promise<void>;
  send(method: "POST" | "PATCH" | "PUT" | "DELETE", path: string, options: SendOptions): Promise<Result>;
  post(path: string, options: SendOptions): Promise<Result>;
  patch(path: string, options: SendOptions): Promise<Result>;
  /**
   * Reads `/.well-known/idempotency` once: header, form and retention are then the server's own. The client also reads
   * it without this call, before it sends an attempt that is older than a minute again.
   */
  readPolicy(): Promise<ServerPolicy>;
  readonly attempts: Attempts;
}

const dayMs = 86_400_000;
/** The client works without the policy: reading it must not delay the request that the person waits for. */
const policyTimeoutMs = 5_000;
const withoutKey = ["GET", "HEAD", "OPTIONS", "TRACE"];

const optionNames = "baseUrl fetch retry storage keys headers settings retentionMs rememberMs isAnswer onWarning clock";

function checkOptions(options: ClientOptions): void {
  expectNames("the client", options, optionNames);
  const { baseUrl = "/", storage, retentionMs = dayMs, rememberMs = dayMs } = options;
  expectOption(typeof baseUrl === "string" && baseUrl !== "", "baseUrl", "an address", baseUrl);
  expectWhole("retentionMs", Math.min(retentionMs, msMax), 1);
  expectWhole("rememberMs", Math.min(rememberMs, msMax), 0);
  for (const name of ["fetch", "isAnswer", "keys", "onWarning"] as const) {
    if (options[name] !== undefined) expectFunction(name, options[name]);
  }
  for (const verb of ["getItem", "setItem", "removeItem"] as const) {
    if (storage !== undefined) expectFunction(`storage.${verb}`, storage[verb]);
  }
}

/** @internal What `createFetch` shares with the client. */
export interface ClientParts extends DeliveryParts {
  readonly attempts: Attempts;
  readonly headerOf: (attempt: Pick<Attempt, "key" | "verbatim">) => readonly [name: string, value: string];
  readonly readPolicy: () => Promise<ServerPolicy>;
  /** A key of the kind that the options, or the server, ask for. */
  readonly newKey: KeySource;
}

/** @internal */
export function createParts(options: ClientOptions): ClientParts {
  checkOptions(options);
  const clock = options.clock ?? systemClock;
  let policy: Promise<ServerPolicy> | undefined;
  let known: ServerPolicy | undefined;
  /** The server has no policy: it is not asked again. */
  let hasNone = false;

  async function fetchPolicy(): Promise<ServerPolicy> {
    const url = urlOf(options.baseUrl, "/.well-known/idempotency");
    const init = { ...options.settings, headers: { accept: "application/json" } };
    const answer = await ask(options.fetch, url, init, policyTimeoutMs);
    hasNone = answer.status === 404;
    if (answer.status !== 200) throw new Error(`no policy: ${answer.status}`);
    known = readPolicy(answer.json());
    return known;
  }
  const readOnce = (): Promise<ServerPolicy> => {
    policy ??= fetchPolicy().catch((error: unknown) => {
      policy = undefined;
      throw error;
    });
    return policy;
  };
  const newKey: KeySource = options.keys ?? (() => (known?.uuidV4 ? uuidV4() : uuidV7(clock.nowMs())));
  const warn = options.onWarning ?? ((message: string) => console.warn(message));
  return {
    fetch: options.fetch,
    clock,
    newKey: async (payload) => checkKey(await newKey(payload), warn),
    attempts: createAttempts({
      storage: options.storage ?? tabStorage(),
      nowMs: () => clock.nowMs(),
      keys: newKey,
      warn,
      rememberMs: options.rememberMs,
    }),
    budget: createRetryBudget(resolveRetry(options.retry).budget),
    retentionMs: options.retentionMs ?? dayMs,
    isAnswer: options.isAnswer,
    policy: async (worthAsking) => {
      if (!worthAsking || hasNone) return known;
      return readOnce().catch(() => undefined);
    },
    readPolicy: readOnce,
    headerOf: ({ key, verbatim }) => [
      known?.header ?? "Idempotency-Key",
      verbatim === true ? key : headerText(key, known),
    ],
  };
}

export function createClient(options: ClientOptions = {}): Client {
  const parts = createParts(options);
  const { attempts } = parts;

  function requestOf(method: string, sending: SendOptions): Delivery["init"] {
    const headers = new Headers({ ...options.headers, ...sending.headers });
    headers.set(...parts.headerOf(sending.attempt));
    const init = { ...options.settings, ...sending.settings, method, headers };
    if (sending.json === undefined) return { ...init, body: (sending.body ?? null) as BodyInit | null };
    for (const name of ["content-type", "accept"]) if (!headers.has(name)) headers.set(name, "application/json");
    return { ...init, body: JSON.stringify(sending.json) };
  }

  async function send(method: string, path: string, sending: SendOptions): Promise<Result> {
    expectNames("send", sending, "attempt json body headers settings signal retry onRetry");
    const { attempt, json, body, signal, onRetry } = sending;
    if (typeof attempt?.key !== "string") {
      throw new ClientError("attempt-missing", "pass { attempt: await createAttempt(…) }");
    }
    expectOption(!withoutKey.includes(method.toUpperCase()), "the method", "one with a key", method);
    expectOption(!(body instanceof ReadableStream), "body", "no stream", body);
    const url = urlOf(options.baseUrl, path);
    const content = json ?? (typeof body === "string" ? body : undefined);
    return deliver(parts, {
      attempt,
      url,
      init: requestOf(method, sending),
      content: content === undefined ? undefined : await payloadHash([method, url, content]),
      retry: resolveRetry(options.retry, sending.retry),
      signal,
      onRetry,
    });
  }

  return {
    attempts,
    createAttempt: (name, payload) => attempts.create(name, payload),
    startOver: (name) => attempts.startOver(name),
    send,
    post: (path, sending) => send("POST", path, sending),
    patch: (path, sending) => send("PATCH", path, sending),
    readPolicy: parts.readPolicy,
  };
}
