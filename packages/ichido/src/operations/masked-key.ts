/**
 * Keys are shown in part: who has one can ask for its answer. A record has a short name of its own, which a person can
 * type in place of the key.
 */
import { createHmac } from "node:crypto";
import { sha256Hex } from "../core/request/sha256.ts";

/** Of a key that is too short to hide the rest of, nothing is shown. */
export function maskedKey(key: string): string {
  if (key.length >= 16) return `${key.slice(0, 4)}…${key.slice(-2)}`;
  return key.length >= 10 ? `${key.slice(0, 2)}…` : "…";
}

/** In texts of others: an error or a reason may quote the key. */
export function withoutKey(text: string, key: string): string {
  // A function: in a text, `$&` of a key would stand for the key.
  return text.replaceAll(key, () => maskedKey(key));
}

const nameDigits = 12;

interface Named {
  readonly key: string;
  readonly scopeHash: Uint8Array;
}

export type NameOf = (record: Named) => string;

/**
 * The same in every process that has the secret, which is the engine's `operationIdSecret`: names stand in tickets, and who
 * guesses keys could try them against a plain hash. Without a secret they are such a hash, since the next command has to
 * know them again.
 */
export function recordNames(secret: string | undefined): NameOf {
  const digestOf = (text: string): string =>
    secret === undefined
      ? sha256Hex(text)
      : createHmac("sha256", `ichido-record-name-1 ${secret}`).update(text).digest("hex");
  return ({ key, scopeHash }) =>
    `@${digestOf(`${Buffer.from(scopeHash).toString("hex")} ${key}`).slice(0, nameDigits)}`;
}

export function isRecordName(text: string): boolean {
  return new RegExp(`^@[0-9a-f]{${nameDigits}}$`).test(text);
}
