/**
 * `application/x-www-form-urlencoded` by meaning: the decoded pairs, sorted by name, those of the same name in order.
 * Names and values are kept as the bytes that they encode, one character per byte: decoding them to text would make all
 * bytes equal that are not UTF-8.
 */
import { lengthPrefixed } from "./sha256.ts";

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

/**
 * The spelling of a parsed form; undefined when the parser made of it what pairs cannot express (nested, or not text).
 */
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
  // Any value but a plain object may hide its members, and would look like an empty form.
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

/**
 * Whether a form field counts. Forms have no nesting of their own; `customer[id]` and `items[]` are read as parsers of
 * forms read them, as `customer.id` and as a part of `items`.
 */
export function isFieldNamed(name: string, fields: readonly string[]): boolean {
  const dotted = withDots(name);
  return fields.some((field) => name === field || dotted === field || dotted.startsWith(`${field}.`));
}

/** Searches forward only: a regular expression would search for the end of each bracket again. */
function withDots(name: string): string {
  let text = "";
  for (let at = 0; ;) {
    const open = name.indexOf("[", at);
    const close = open < 0 ? -1 : name.indexOf("]", open);
    if (close < 0) return text + name.slice(at);
    text += `${name.slice(at, open)}.${name.slice(open + 1, close)}`;
    at = close + 1;
  }
}
