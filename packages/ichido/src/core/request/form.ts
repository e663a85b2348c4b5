/**
 * `application/x-www-form-urlencoded` by meaning: the decoded pairs, sorted by name, those of the same name in order.
 * Names and values are kept as the bytes they stand for, one character per byte: decoding them to text would make all
 * bytes that are no UTF-8 equal.
 */
import { isFieldNamed } from "./fields.ts";
import { lengthPrefixed } from "./length-prefix.ts";

/** Parsers of forms stop at a thousand; with more than this, a form is compared byte by byte. */
export const formPairsMax = 10_000;

export type FormPair = readonly [name: string, value: string];

/** Undefined when there are too many pairs. */
export function canonicalForm(bytes: Uint8Array, fields?: readonly string[]): string | undefined {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
  const pairs: FormPair[] = [];
  for (let start = 0; start < text.length;) {
    const ampersand = text.indexOf("&", start);
    const end = ampersand < 0 ? text.length : ampersand;
    if (end > start) pairs.push(decodePair(text.slice(start, end)));
    if (pairs.length > formPairsMax) return undefined;
    start = end + 1;
  }
  return spellPairs(pairs, fields);
}

/** A parsed form; undefined when it has become something that pairs cannot tell (nested, or not text). */
export function canonicalParsedForm(value: unknown, fields?: readonly string[]): string | undefined {
  const entries = entriesOf(value);
  if (entries === undefined) return undefined;
  const pairs: FormPair[] = [];
  for (const [name, text] of entries) {
    if (typeof text !== "string") return undefined;
    pairs.push([toBytes(name), toBytes(text)]);
  }
  return spellPairs(pairs, fields);
}

function entriesOf(value: unknown): Iterable<readonly [string, unknown]> | undefined {
  if (value instanceof URLSearchParams || value instanceof FormData) return value;
  // Anything but a plain object may hide what it holds, and would pass for an empty form.
  if (Object.prototype.toString.call(value) !== "[object Object]") return undefined;
  return Object.entries(value as object).flatMap(([name, member]: [string, unknown]) =>
    Array.isArray(member) ? member.map((text: unknown) => [name, text] as const) : [[name, member] as const],
  );
}

function spellPairs(all: readonly FormPair[], fields: readonly string[] | undefined): string {
  const wanted = fields?.map(toBytes);
  const pairs = wanted === undefined ? [...all] : all.filter(([name]) => isFieldNamed(name, wanted));
  pairs.sort(([a], [b]) => (a === b ? 0 : a < b ? -1 : 1));
  return lengthPrefixed(pairs.flat());
}

function decodePair(pair: string): FormPair {
  const equals = pair.indexOf("=");
  return equals < 0 ? [decode(pair), ""] : [decode(pair.slice(0, equals)), decode(pair.slice(equals + 1))];
}

function decode(text: string): string {
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text;
  if (!spaced.includes("%")) return spaced;
  return spaced.replace(/%[0-9a-f]{2}/gi, (escape) => String.fromCharCode(Number.parseInt(escape.slice(1), 16)));
}

function toBytes(text: string): string {
  return /[^\0-\x7f]/.test(text) ? Buffer.from(text).toString("latin1") : text;
}
