/**
 * The binary content mode of CloudEvents: attributes travel as `ce-` headers, the payload is the body. Values are
 * percent-encoded where a header could not carry them, so that every broker gives back the same text.
 */
import { present } from "../core/contract/present.ts";
import { checkHeaders, checkId, checkKey, checkTopic, type EventMessage } from "./message.ts";

const attributes = {
  "ce-id": "id",
  "ce-type": "topic",
  "ce-source": "source",
  "ce-time": "time",
  "ce-subject": "key",
  "ce-correlationid": "correlationId",
  "ce-causationid": "causationId",
} as const;

const unsafe = /[^\x21\x23\x24\x26-\x7e]+/gu;

function encode(text: string): string {
  return text.replace(unsafe, (part) =>
    [...new TextEncoder().encode(part)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
  );
}

export function headersOf(message: EventMessage): Record<string, string> {
  const headers: Record<string, string> = { "ce-specversion": "1.0", "content-type": message.contentType };
  for (const [header, name] of Object.entries(attributes)) {
    const value = message[name];
    if (value !== undefined) headers[header] = encode(value);
  }
  if (message.key !== undefined) headers["ce-partitionkey"] = encode(message.key);
  if (message.traceparent !== undefined) headers["traceparent"] = message.traceparent;
  if (message.tracestate !== undefined) headers["tracestate"] = message.tracestate;
  for (const [name, value] of Object.entries(message.headers)) headers[name] = encode(value);
  return headers;
}

/** What a broker delivered, read back. `undefined` headers are absent; others' names are left to `own`. */
export function messageFrom(headers: Readonly<Record<string, string | undefined>>, payload: Uint8Array): EventMessage {
  const read = (name: string): string | undefined => {
    const value = headers[name];
    return value === undefined ? undefined : decodeURIComponent(value);
  };
  const own = Object.entries(headers).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && isOwn(entry[0]),
  );
  return {
    ...present({
      key: checkKey(read("ce-subject")),
      correlationId: read("ce-correlationid"),
      causationId: read("ce-causationid"),
      traceparent: headers["traceparent"],
      tracestate: headers["tracestate"],
    }),
    id: checkId(read("ce-id")),
    topic: checkTopic(read("ce-type")),
    source: read("ce-source") ?? "",
    time: read("ce-time") ?? "",
    contentType: headers["content-type"] ?? "application/json",
    payload,
    headers: checkHeaders(Object.fromEntries(own.map(([name, value]) => [name, decodeURIComponent(value)]))),
  };
}

/** Everything that is neither an attribute nor the transport's. */
function isOwn(name: string): boolean {
  return !/^(?:ce-.*|content-type|content-length|traceparent|tracestate|idempotency-key|nats-.*|webhook-.*|x-ichido-.*|host|connection|transfer-encoding|user-agent|accept.*|sec-.*)$/.test(
    name,
  );
}
