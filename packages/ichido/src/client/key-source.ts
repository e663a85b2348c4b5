/**
 * Where keys come from. A key stands for one intent: made when the person decides, not when the program sends.
 *
 * | source | right when | wrong when |
 * |---|---|---|
 * | `uuidV7`, `uuidV4` | nearly always: random, nothing to guess, nothing to leak | never by itself; the attempt must be kept across retries |
 * | `contentKey` | the content alone is the intent, such as importing a file | two intents can have equal content: a second, wanted order of the same thing would be swallowed |
 * | `compositeKey` | several programs must agree on the key without talking | the time part is taken at every try: each try is then another intent |
 *
 * Never put an e-mail address, a name or a card number into a key: keys are stored, logged and compared in clear by
 * others.
 */
import { expectNames } from "./client-options.ts";
import { ClientError } from "./errors.ts";

import { uuidV7 as uuidV7At } from "../core/contract/uuid.ts";

export { uuidV4 } from "../core/contract/uuid.ts";

/** Sorts by the time at which it was made, which makes database indexes faster. */
export function uuidV7(nowMs: number = Date.now()): string {
  return uuidV7At(nowMs);
}

const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

export type KeySource = (payload: unknown) => string | Promise<string>;

/** Writes maps, sets, forms and bytes as their kind and content: JSON alone would write an empty object. */
function sortedMembers(_name: string, value: unknown): unknown {
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const kind = Object.prototype.toString.call(value);
  if (/Blob|File\]|ArrayBuffer|Stream|Promise|Weak/.test(kind)) throw new Error(`it holds ${kind}`);
  if (Symbol.iterator in value) return [kind, ...(value as Iterable<unknown>)];
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** JSON with members sorted, so that equal contents have equal texts. */
export function stableJson(value: unknown): string {
  try {
    return JSON.stringify(value, sortedMembers) ?? "null";
  } catch (cause) {
    // A payload that refers to itself ends here, too: it is too deep.
    throw new ClientError("payload-unhashable", `the payload is not plain JSON: ${String(cause)}`, { cause });
  }
}

/** FNV-1a and the length, where Web Crypto is missing (plain http): enough to notice a change, never used as a key. */
function weakHash(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return `w${hash}.${text.length}`;
}

async function sha256(text: string): Promise<string | undefined> {
  const subtle = globalThis.crypto?.subtle;
  if (subtle === undefined) return undefined;
  return hex(new Uint8Array(await subtle.digest("SHA-256", new TextEncoder().encode(text))));
}

/** Binds an attempt to its payload. */
export async function payloadHash(payload: unknown): Promise<string> {
  const text = stableJson(payload);
  return (await sha256(text)) ?? weakHash(text);
}

/** The same content gives the same key, for ever. Needs a secure context (https or localhost). */
export async function contentKey(payload: unknown, prefix = ""): Promise<string> {
  const hash = await sha256(stableJson([prefix, payload]));
  if (hash === undefined)
    throw new ClientError("payload-unhashable", "contentKey needs Web Crypto: serve the page over https");
  return hash;
}

/** Principal, time and a random part: `composite({ principal: account.id })`. The principal is hashed into the key. */
export async function compositeKey(parts: {
  readonly principal: string;
  readonly atMs?: number;
  readonly random?: string;
}): Promise<string> {
  expectNames("compositeKey", parts, "principal atMs random");
  const { principal, atMs = Date.now(), random = hex(crypto.getRandomValues(new Uint8Array(8))) } = parts;
  const who = (await sha256(principal))?.slice(0, 16) ?? weakHash(principal);
  return `${who}-${atMs.toString(36)}-${random}`;
}
