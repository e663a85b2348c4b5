/**
 * Keys of filled records: made from a number, so that a server makes millions by itself and a replay knows any of them.
 * Both kinds are UUIDs as text, random ones of version 4 and ones of version 7, which begin with a time.
 */
import { hash, randomBytes, randomUUID } from "node:crypto";

export type KeyKind = "v4" | "v7";

/** Every filled key of version 7 is older than those of today. */
const firstMs = Date.UTC(2026, 9, 1);

function uuid(first12: string, version: string, rest: string): string {
  return `${first12.slice(0, 8)}-${first12.slice(8, 12)}-${version}${rest.slice(0, 3)}-a${rest.slice(3, 6)}-${rest.slice(6, 18)}`;
}

const timeHex = (ms: number): string => ms.toString(16).padStart(12, "0");

export function keyOf(kind: KeyKind, number: number): string {
  const digest = hash("md5", String(number));
  return kind === "v4"
    ? uuid(digest.slice(0, 12), "4", digest.slice(12, 30))
    : uuid(timeHex(firstMs + number), "7", digest.slice(12, 30));
}

export function newKey(kind: KeyKind): string {
  return kind === "v4" ? randomUUID() : uuid(timeHex(Date.now()), "7", randomBytes(9).toString("hex"));
}

/** How a dialect writes a number as text, in tens and in sixteens. */
export interface NumberTexts {
  readonly decimal: (number: string) => string;
  readonly hex: (number: string) => string;
}

/** `keyOf` in SQL, for servers with `md5`; `number` is an expression. */
export function sqlKeyOf(kind: KeyKind, number: string, { decimal, hex }: NumberTexts): string {
  const digest = `md5(${decimal(number)})`;
  const first = kind === "v4" ? digest : `lpad(${hex(`${firstMs} + ${number}`)}, 12, '0')`;
  const parts = [
    `substr(${first}, 1, 8), '-', substr(${first}, 9, 4), '-${kind.slice(1)}', substr(${digest}, 13, 3), '-a'`,
    `substr(${digest}, 16, 3), '-', substr(${digest}, 19, 12)`,
  ];
  return `concat(${parts.join(", ")})`;
}
