/** An event as an entry of a stream: two fields, `headers` (JSON) and `payload` (bytes). */
import { bufferOf, bytesOf, listOf, textOf } from "../../drivers/redis/reply.ts";
import type { RedisArgument } from "../../drivers/redis/client.ts";
import { headersOf, messageFrom } from "../headers.ts";
import type { EventMessage } from "../message.ts";

export interface Entry {
  readonly id: string;
  readonly fields: readonly unknown[];
}

export type Reading =
  | { readonly message: EventMessage }
  | { readonly error: Error; readonly raw: Uint8Array; readonly headers: Readonly<Record<string, string>> };

export function fieldsOf(message: EventMessage): readonly RedisArgument[] {
  return ["headers", JSON.stringify(headersOf(message)), "payload", bufferOf(message.payload)];
}

export function entryOf(reply: unknown): Entry {
  const [id, fields] = listOf(reply);
  return { id: textOf(id), fields: fields === null || fields === undefined ? [] : listOf(fields) };
}

/** Never throws: what is no event goes to `unreadable` of the taker, with all its bytes. */
export function read({ id, fields }: Entry): Reading {
  const named = new Map<string, unknown>();
  for (let index = 0; index + 1 < fields.length; index += 2) named.set(textOf(fields[index]), fields[index + 1]);
  let headers: Readonly<Record<string, string>> = {};
  try {
    if (!named.has("headers") || !named.has("payload"))
      throw new TypeError(`entry ${id} lacks the fields "headers" and "payload" of an event`);
    headers = textsOf(JSON.parse(textOf(named.get("headers"))));
    return { message: messageFrom(headers, bytesOf(named.get("payload"))) };
  } catch (error) {
    const whole = [...named].map(([name, value]) => [name, textOf(value)]);
    const raw = named.has("payload") ? bytesOf(named.get("payload")) : new TextEncoder().encode(JSON.stringify(whole));
    return { error: error instanceof Error ? error : new Error(String(error)), raw, headers };
  }
}

function textsOf(value: unknown): Record<string, string> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new TypeError('the field "headers" is not a JSON object');
  const texts = Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  return Object.fromEntries(texts);
}
