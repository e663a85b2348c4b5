/**
 * Which events are copies of one another. An id belongs to one event of one source, but a producer cannot be made to
 * keep to that: an order's id under two topics is a natural choice. So a copy is what has the same content as well; two
 * events that merely share an id are both delivered, and the inbox tells them apart.
 */
import { sha256 } from "../core/request/sha256.ts";
import type { EventMessage } from "./message.ts";

/** SHA-256 of source, topic, content type and payload, each after its length. */
export function printOf({ source, topic, contentType, payload }: EventMessage): Uint8Array {
  const head = [source, topic, contentType].map((text) => `${Buffer.byteLength(text)}:${text}`).join("");
  return sha256(Buffer.concat([Buffer.from(`${head}${payload.length}:`), payload]));
}

/** What all copies of an event have in common, and no other event has. */
export function copyIdOf(message: EventMessage): string {
  return `${message.id}:${Buffer.from(printOf(message)).toString("base64url")}`;
}
