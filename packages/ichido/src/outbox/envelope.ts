/** What of an event is kept beside its payload: everything but id, topic and key, which have columns of their own. */
import { IchidoError } from "../core/contract/errors.ts";
import { hasLoneSurrogate } from "../core/request/sha256.ts";
import { encodeValue } from "../core/contract/value.ts";
import { checkHeaders, type EventMessage } from "../brokers/message.ts";

export interface OutboxMessage {
  /** Dot-separated names, such as `order.paid`. */
  readonly topic: string;
  /** What the event is about, such as the order's id. Order is kept among events with the same key. */
  readonly key?: string;
  /** Plain JSON, or bytes with a `contentType`. Not `undefined`: `null` says that there is nothing more to say. */
  readonly payload: unknown;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Milliseconds, by the database's clock. A delayed event stands outside the order of its key. */
  readonly delayMs?: number;
  /** Default: a new UUID v7. One of your own belongs to this event alone, whatever its topic. Fixed from here on. */
  readonly id?: string;
  readonly correlationId?: string;
  /** The id of the event that this one follows from. */
  readonly causationId?: string;
  readonly traceparent?: string;
  readonly tracestate?: string;
}

interface Envelope {
  readonly source: string;
  readonly time: string;
  readonly contentType: string;
  readonly correlationId?: string;
  readonly causationId?: string;
  readonly traceparent?: string;
  readonly tracestate?: string;
  readonly headers: Readonly<Record<string, string>>;
}

const optionalNames = ["correlationId", "causationId", "traceparent", "tracestate"] as const;
const textLengthMax = 1000;
const contentTypeForm = /^[\x21-\x7e][\x20-\x7e]{0,199}$/;

function optionalTexts(message: OutboxMessage): Partial<Record<(typeof optionalNames)[number], string>> {
  const texts: Partial<Record<(typeof optionalNames)[number], string>> = {};
  for (const name of optionalNames) {
    const value: unknown = message[name];
    if (value === undefined) continue;
    if (
      typeof value !== "string" ||
      value.length > textLengthMax ||
      hasLoneSurrogate(value) ||
      /[\0\r\n]/.test(value)
    ) {
      throw new IchidoError(
        "message-invalid",
        `${name} must be a text of at most ${textLengthMax} characters without line breaks`,
      );
    }
    texts[name] = value;
  }
  return texts;
}

export function payloadBytes(message: OutboxMessage, bytesMax: number): Uint8Array {
  // No bytes would stand for it, which no consumer can read as JSON.
  if (message.payload === undefined)
    throw new IchidoError("message-invalid", "payload is undefined; give null for an event that says nothing more");
  const bytes = message.payload instanceof Uint8Array ? message.payload : encodeValue(message.payload, "payload");
  if (bytes.length > bytesMax) {
    throw new IchidoError(
      "message-invalid",
      `payload has ${bytes.length} bytes, more than payloadBytesMax (${bytesMax}); put the document elsewhere and send a link to it`,
    );
  }
  return bytes;
}

export function encodeEnvelope(message: OutboxMessage, source: string, wallMs: number): string {
  const contentType =
    message.contentType ?? (message.payload instanceof Uint8Array ? "application/octet-stream" : "application/json");
  if (typeof contentType !== "string" || !contentTypeForm.test(contentType))
    throw new IchidoError("message-invalid", "contentType must be a media type of printable ASCII characters");
  const envelope: Envelope = {
    source,
    time: new Date(wallMs).toISOString(),
    contentType,
    headers: checkHeaders(message.headers),
    ...optionalTexts(message),
  };
  return JSON.stringify(envelope);
}

export function decodeMessage(parts: {
  readonly id: string;
  readonly topic: string;
  readonly key: string | undefined;
  readonly envelope: string;
  readonly payload: Uint8Array;
}): EventMessage {
  const { id, topic, key, payload } = parts;
  const envelope = JSON.parse(parts.envelope) as Envelope;
  return { id, topic, ...envelope, payload, ...(key === undefined ? {} : { key }) };
}
