/**
 * Webhooks as messages: the signature is verified on the bytes as they came, before anything is written; then the inbox
 * decides. The sender's retries are the redeliveries, so the answer is the acknowledgement.
 *
 * Signed are id, timestamp and body. CloudEvents headers, the topic among them, are protected by TLS alone.
 */
import { tell } from "../core/contract/listener.ts";
import { optionInvalid } from "../core/contract/option-checks.ts";
import { given, optional, positive, readOptions } from "../core/contract/read-options.ts";
import { present } from "../core/contract/present.ts";
import type { IncomingMessage, ServerResponse } from "node:http";
import { messageFrom } from "../brokers/headers.ts";
import { checkTopic, type EventMessage } from "../brokers/message.ts";
import { readSecret, toleranceMsDefault, verify, type WebhookVerdict } from "../brokers/standard-webhooks.ts";
import { IchidoError, isIchidoError } from "../core/contract/errors.ts";
import { leasedOptions } from "./handlers.ts";
import { checkHandlerName } from "./identity.ts";
import { partsOf, type Inbox } from "./inbox.ts";
import type { LeasedHandler, LeasedOptions } from "./run-leased.ts";
import type { InboxOutcome, InboxResult, OnceHandler } from "./run-once.ts";

type Refusal = Extract<WebhookVerdict, { readonly valid: false }>["reason"];

export type WebhookEvent =
  | { readonly type: InboxOutcome; readonly id: string; readonly topic: string }
  /** A sender without the secret, a clock that is off, or a secret that was changed on one side. */
  | { readonly type: "refused"; readonly reason: Refusal | "too-large" | "message-invalid" }
  /** Answered with 500 or 503; the sender comes again. */
  | { readonly type: "failed"; readonly id: string; readonly error: unknown };

export type WebhookReceiverOptions<Tx> = {
  readonly inbox: Inbox<Tx>;
  /** `whsec_…`; several while one is being changed. */
  readonly secrets: string | readonly string[];
  /** The handler's name in the inbox: one for each endpoint. */
  readonly name: string;
  /** Default: the header `ce-type`, else `webhook`. */
  readonly topic?: string;
  /** How far the sender's clock may be off, and how long a delivery may travel. Default 300 000. */
  readonly toleranceMs?: number;
  /** Default 1 MiB. */
  readonly bodyBytesMax?: number;
  /** How long a sender is asked to wait when the message is busy or the database away. Default 5 s. */
  readonly retryAfterSeconds?: number;
  readonly onEvent?: (event: WebhookEvent) => void;
} & (
  | { readonly once: OnceHandler<Tx>; readonly run?: never }
  | ({ readonly run: LeasedHandler; readonly once?: never } & LeasedOptions)
);

export interface WebhookReceiver {
  /** For Hono, Next.js, Deno and whatever else speaks fetch. */
  fetch(request: Request): Promise<Response>;
  /** For `node:http`, Express and Fastify's raw objects; mount it before any body parser. */
  node(request: IncomingMessage, response: ServerResponse): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Incoming {
  readonly method: string;
  readonly header: (name: string) => string | undefined;
  readonly headers: () => Readonly<Record<string, string>>;
  /** Undefined: larger than allowed. */
  readonly body: () => Promise<Uint8Array | undefined>;
}

/** Its names, of whichever kind its handler is. */
type AnyReceiverOptions = Readonly<Record<keyof typeof optionTable, unknown>>;

const bodyBytesMaxDefault = 1_048_576;
const retryAfterSecondsDefault = 5;
const topicDefault = "webhook";

async function collect(chunks: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Uint8Array | undefined> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > bytesMax) return undefined;
    parts.push(chunk);
  }
  return Buffer.concat(parts);
}

function consumed(): IchidoError {
  return new IchidoError(
    "body-unavailable",
    "the body was read before the webhook receiver saw it, and the signature is of its bytes; mount the receiver before any body parser",
  );
}

const optionTable = {
  inbox: given<unknown>(),
  name: (_option: string, value: unknown) => checkHandlerName(value),
  secrets: secretsOf,
  topic: optional((_option, value) => checkTopic(value)),
  toleranceMs: positive(toleranceMsDefault),
  bodyBytesMax: positive(bodyBytesMaxDefault),
  retryAfterSeconds: positive(retryAfterSecondsDefault),
  onEvent: given<unknown>(),
  once: given<unknown>(),
  run: given<unknown>(),
  onUnknown: given<unknown>(),
  leaseMs: given<unknown>(),
};

function secretsOf(option: string, value: unknown): readonly Uint8Array[] {
  const secrets: unknown = typeof value === "string" ? [value] : value;
  if (!Array.isArray(secrets) || secrets.length === 0) throw optionInvalid(option, "at least one", value);
  return secrets.map((secret: unknown, index) => readSecret(secret, `${option}[${index}]`));
}

export function createWebhookReceiver<Tx>(options: WebhookReceiverOptions<Tx>): WebhookReceiver {
  const settings = readOptions("createWebhookReceiver", options as AnyReceiverOptions, optionTable);
  const { name, secrets, topic, toleranceMs, bodyBytesMax, retryAfterSeconds } = settings;
  const { inbox } = options;
  const { environment } = partsOf(inbox as Inbox<never>);
  const later = { status: 503, headers: { "retry-after": String(retryAfterSeconds) } };
  if ([options.once, options.run].filter((fn) => typeof fn === "function").length !== 1)
    throw optionInvalid("once", "a function here or as run, and not both", options.once);

  function emit(event: WebhookEvent): void {
    tell(options.onEvent, event);
  }

  function refuse(status: number, reason: Extract<WebhookEvent, { type: "refused" }>["reason"]): Answer {
    emit({ type: "refused", reason });
    return { status };
  }

  function messageOf(incoming: Incoming, id: string, body: Uint8Array): EventMessage {
    const type = topic ?? (incoming.header("ce-type") === undefined ? topicDefault : undefined);
    // The id that was signed; whatever else the headers say.
    const named = { ...incoming.headers(), "ce-id": "webhook", ...present({ "ce-type": type }) };
    return { ...messageFrom(ownHeaders(named), body), id };
  }

  function handled(message: EventMessage): Promise<InboxResult> {
    if (options.once !== undefined) return inbox.runOnce(message, name, options.once);
    return inbox.run(message, name, options.run, leasedOptions(options));
  }

  async function receive(incoming: Incoming): Promise<Answer> {
    if (incoming.method !== "POST") return { status: 405, headers: { allow: "POST" } };
    const signed = {
      "webhook-id": incoming.header("webhook-id"),
      "webhook-timestamp": incoming.header("webhook-timestamp"),
      "webhook-signature": incoming.header("webhook-signature"),
    };
    const id = signed["webhook-id"];
    if (!id || !signed["webhook-timestamp"] || !signed["webhook-signature"]) return refuse(401, "header-missing");
    if (Number(incoming.header("content-length") ?? 0) > bodyBytesMax) return refuse(413, "too-large");
    const body = await incoming.body();
    if (body === undefined) return refuse(413, "too-large");
    const verdict = verify(secrets, signed, body, { nowMs: environment.wallMs(), toleranceMs });
    if (!verdict.valid) return refuse(401, verdict.reason);
    let message: EventMessage;
    try {
      message = messageOf(incoming, id, body);
    } catch {
      return refuse(400, "message-invalid");
    }
    try {
      const { outcome } = await handled(message);
      emit({ type: outcome, id, topic: message.topic });
      if (outcome === "busy") return later;
      // Refused for good. A sender that gets 409 may take it for "still at work" and try for ever.
      if (outcome === "conflict") return { status: 422 };
      return { status: 204 };
    } catch (error) {
      emit({ type: "failed", id, error });
      return isIchidoError(error) && error.retryable ? later : { status: 500 };
    }
  }

  return {
    async fetch(request) {
      if (request.bodyUsed) throw consumed();
      const { status, headers } = await receive({
        method: request.method,
        header: (header) => request.headers.get(header) ?? undefined,
        headers: () => Object.fromEntries(request.headers),
        body: async () => (request.body === null ? new Uint8Array(0) : collect(request.body, bodyBytesMax)),
      });
      return new Response(null, { status, ...present({ headers }) });
    },
    async node(request, response) {
      if (request.readableDidRead && request.headers["content-length"] !== "0") throw consumed();
      const header = (wanted: string): string | undefined => {
        const value = request.headers[wanted];
        return Array.isArray(value) ? value.join(", ") : value;
      };
      const { status, headers } = await receive({
        method: request.method ?? "",
        header,
        headers: () => Object.fromEntries(Object.keys(request.headers).map((each) => [each, header(each) ?? ""])),
        body: () => collect(request, bodyBytesMax),
      });
      // What is left of a body that was too large is not read: the connection ends instead.
      response.writeHead(status, { ...headers, ...(status === 413 ? { connection: "close" } : {}) }).end();
    },
  };
}

/** Proxies add headers of their own; those that are no text of an event are left out instead of refusing the event. */
function ownHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => name === "content-type" || name.startsWith("ce-") || name.startsWith("trace"),
    ),
  );
}
