/**
 * An event as it travels from an outbox to an inbox. Id and payload bytes are fixed when it is added, inside the business
 * transaction: every copy that is ever sent is the same event.
 */
import { IchidoError } from "../core/contract/errors.ts";
import { hasLoneSurrogate } from "../core/request/sha256.ts";

export interface EventMessage {
  /** Unique within its source. `Idempotency-Key` of a webhook, key of the inbox, part of the dedup id at the broker. */
  readonly id: string;
  /** CloudEvents `type`: dot-separated names, such as `order.paid`. */
  readonly topic: string;
  /** CloudEvents `subject`: what the event is about. Order is kept among events with the same key. */
  readonly key?: string;
  /** CloudEvents `source`: who says so. */
  readonly source: string;
  /** When it was added, or, of a delayed event, from when on it may be delivered. ISO 8601 in UTC. */
  readonly time: string;
  /** CloudEvents `datacontenttype`. */
  readonly contentType: string;
  readonly payload: Uint8Array;
  readonly correlationId?: string;
  readonly causationId?: string;
  /** W3C trace context of the moment it was added. */
  readonly traceparent?: string;
  readonly tracestate?: string;
  /** The user's own, lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
}

export const topicLengthMax = 200;
export const keyBytesMax = 1024;
export const idLengthMax = 255;

const topicForm = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/;
const idForm = /^[\x21-\x7e]+$/;
const headerNameForm = /^[a-z0-9!#$%&'*+.^_`|~-]+$/;
const reservedHeader =
  /^(?:ce-.*|content-type|content-length|traceparent|tracestate|idempotency-key|nats-.*|webhook-.*|x-ichido-.*|host|connection|transfer-encoding)$/;
const encoder = new TextEncoder();

function refuse(what: string): IchidoError {
  return new IchidoError("message-invalid", what);
}

export function checkTopic(topic: unknown): string {
  if (typeof topic !== "string" || topic.length > topicLengthMax || !topicForm.test(topic)) {
    throw refuse(
      `topic must be dot-separated names of letters, digits, "_" and "-", at most ${topicLengthMax} characters, such as "order.paid"; got ${JSON.stringify(topic)?.slice(0, 80)}`,
    );
  }
  return topic;
}

/** Others are of no event that an outbox took. */
export function isEventId(id: unknown): id is string {
  return typeof id === "string" && id.length <= idLengthMax && idForm.test(id);
}

export function checkId(id: unknown): string {
  if (!isEventId(id)) {
    throw refuse(
      `id must be 1 to ${idLengthMax} printable ASCII characters without spaces; got ${JSON.stringify(id)?.slice(0, 80)}`,
    );
  }
  return id;
}

export function checkKey(key: unknown): string | undefined {
  if (key === undefined) return undefined;
  if (
    typeof key !== "string" ||
    key === "" ||
    key.includes("\0") ||
    hasLoneSurrogate(key) ||
    encoder.encode(key).length > keyBytesMax
  ) {
    throw refuse(
      `key must be a well-formed text of 1 to ${keyBytesMax} bytes without NUL; got ${JSON.stringify(key)?.slice(0, 80)}`,
    );
  }
  return key;
}

/** Names in lower case; values that any broker carries unchanged. */
export function checkHeaders(headers: unknown): Readonly<Record<string, string>> {
  if (headers === undefined) return {};
  if (typeof headers !== "object" || headers === null) throw refuse("headers must be an object of texts");
  const entries = Object.entries(headers as Readonly<Record<string, unknown>>).map(([name, value]) => {
    const lower = name.toLowerCase();
    if (!headerNameForm.test(lower)) throw refuse(`header name ${JSON.stringify(name)} is not a valid header name`);
    if (reservedHeader.test(lower))
      throw refuse(`header ${lower} is set by ichido or by the broker; choose another name`);
    if (typeof value !== "string" || hasLoneSurrogate(value) || /[\0\r\n]/.test(value))
      throw refuse(`header ${lower} must be a well-formed text without line breaks`);
    return [lower, value] as const;
  });
  return Object.fromEntries(entries);
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** The payload of a JSON event. The type is the caller's claim: check it where the producer is not your own code. */
export function payloadOf<Payload = unknown>(message: EventMessage): Payload {
  return JSON.parse(decoder.decode(message.payload)) as Payload;
}
