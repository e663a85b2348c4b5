/**
 * Keys are shown in part: who has one can ask for its answer. A record has a short name of its own, which a person can
 * type in place of the key.
 */
import type { Identity } from "../core/contract/record.ts";
import { sha256Hex } from "../core/request/sha256.ts";

/** Of a key that is too short to hide the rest of, nothing is shown. */
export function maskedKey(key: string): string {
  if (key.length >= 16) return `${key.slice(0, 4)}…${key.slice(-2)}`;
  return key.length >= 10 ? `${key.slice(0, 2)}…` : "…";
}

/** In texts of others: an error or a reason may quote the key. */
export function withoutKey(text: string, key: string): string {
  return text.replaceAll(key, maskedKey(key));
}

const nameDigits = 12;

/** The same on every machine; the key cannot be had from it. */
export function recordName({ key, scopeHash }: Pick<Identity, "key" | "scopeHash">): string {
  return `@${sha256Hex(`${Buffer.from(scopeHash).toString("hex")} ${key}`).slice(0, nameDigits)}`;
}

export function isRecordName(text: string): boolean {
  return new RegExp(`^@[0-9a-f]{${nameDigits}}$`).test(text);
}
