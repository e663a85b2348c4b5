/**
 * Reads the key from the header lines, and judges what the key reveals.
 *
 * The draft of the Idempotency-Key header makes it a structured string (RFC 9651), `"8e03978e"`; most APIs and clients
 * send the bare text, `8e03978e`. `lenient` takes both, and both name the same key. Bare text there is limited to an
 * alphabet in which a proxy's merging of two lines, a parameter, a slip of quoting or an unfilled template cannot pass
 * for a key: letters, digits and ! # $ % & * + - . / : = ? @ ^ _ ` | ~
 *
 * A key is never cut, trimmed inside its quotes or normalised: two keys that differ for the client stay different here.
 */
import type { KeyPolicy } from "../contract/options.ts";
import type { Profile } from "../contract/profiles.ts";
import type { Key } from "../contract/record.ts";

export type ParsedKey =
  | { readonly ok: true; readonly key: Key }
  /** `detail` is fit to be shown to the client: what is wrong and what is expected, never the key itself. */
  | { readonly ok: false; readonly reason: "absent" | "invalid"; readonly detail: string };

type Reading = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly detail: string };

const lenientBare = /^[A-Za-z0-9!#$%&*+\-./:=?@^_`|~]+$/;
const visible = /^[!-+\--:<-~]+$/;
const uuidV4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/** `lines` are the lines of the header, unmerged, perhaps with white space around each. */
export function parseKey(lines: readonly string[], profile: Profile): ParsedKey {
  const header = titleCase(profile.header);
  const [line] = lines;
  if (line === undefined) {
    return { ok: false, reason: "absent", detail: `The ${header} header is missing; send ${expected(profile)}.` };
  }
  if (lines.length > 1) {
    return invalid(`The ${header} header was sent ${lines.length} times; send it once, with one key.`);
  }
  const text = trimOptionalWhitespace(line);
  if (text === "") return invalid(`The ${header} header is empty; send ${expected(profile)}.`);
  const reading = readers[profile.keyForm](text);
  if (!reading.ok) return invalid(`The ${header} header is malformed: ${reading.detail}. Send ${expected(profile)}.`);
  return checkKey(reading.text, header, profile);
}

const readers: Readonly<Record<Profile["keyForm"], (text: string) => Reading>> = {
  lenient: (text) => (text.startsWith('"') ? readQuoted(text) : readLenientBare(text)),
  strict: readQuoted,
  bare: readBare,
};

function readQuoted(text: string): Reading {
  const string = parseStructuredString(text);
  return string.ok ? { ok: true, text: string.value } : string;
}

function readLenientBare(text: string): Reading {
  if (lenientBare.test(text)) return { ok: true, text };
  return {
    ok: false,
    detail: `without quotes it may hold letters, digits and ! # $ % & * + - . / : = ? @ ^ _ \` | ~ only`,
  };
}

/** Quotes are part of the key here, as at Stripe; a comma, semicolon or space is allowed only inside quotes. */
function readBare(text: string): Reading {
  if (text.startsWith('"')) {
    const string = parseStructuredString(text);
    if (string.ok && !string.hasParameters) {
      return string.value.trim() === ""
        ? { ok: false, detail: "there is nothing inside the quotes" }
        : { ok: true, text };
    }
  }
  if (visible.test(text)) return { ok: true, text };
  return { ok: false, detail: "it may hold visible ASCII characters other than the comma and the semicolon" };
}

function checkKey(text: string, header: string, profile: Profile): ParsedKey {
  if (text.trim() === "") return invalid(`The key in ${header} is empty; send ${expected(profile)}.`);
  if (text.length > profile.keyLengthMax) {
    return invalid(`The key in ${header} has ${text.length} characters; send ${expected(profile)}.`);
  }
  if (profile.keyPattern === "uuid-v4" && !uuidV4.test(text)) {
    return invalid(`The key in ${header} is not a UUID of version 4; send ${expected(profile)}.`);
  }
  return { ok: true, key: (profile.keyCase === "lower" ? text.toLowerCase() : text) as Key };
}

function expected(profile: Profile): string {
  const form = profile.keyForm === "strict" ? " in double quotes (a structured string of RFC 9651)" : "";
  if (profile.keyPattern === "uuid-v4") return `a UUID of version 4${form}`;
  return `one key of 1 to ${profile.keyLengthMax} printable ASCII characters${form}`;
}

function invalid(detail: string): ParsedKey {
  return { ok: false, reason: "invalid", detail };
}

/** RFC 9110 section 5.5: space and tab around a field value are no part of it. */
function trimOptionalWhitespace(line: string): string {
  let start = 0;
  let end = line.length;
  while (start < end && isSpaceOrTab(line.charCodeAt(start))) start += 1;
  while (end > start && isSpaceOrTab(line.charCodeAt(end - 1))) end -= 1;
  return line.slice(start, end);
}

function isSpaceOrTab(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

const titles = new Map<string, string>();

/** Cached: headers come from profiles, so there are few. */
function titleCase(header: string): string {
  let title = titles.get(header);
  if (title === undefined) {
    title = header.replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase());
    titles.set(header, title);
  }
  return title;
}

type StructuredString =
  | { readonly ok: true; readonly value: string; readonly hasParameters: boolean }
  | { readonly ok: false; readonly detail: string };

// RFC 9651 section 3.3.3: printable ASCII, with the quote and the backslash escaped and nothing else.
const quoted = /"(?:[ !#-[\]-~]|\\["\\])*"/y;
const parameterName = /; *[a-z*][a-z0-9_.*-]*/y;
const bareItems: readonly RegExp[] = [
  /=-?(?:\d{1,12}\.\d{1,3}|\d{1,15})(?![\d.])/y,
  /="(?:[ !#-[\]-~]|\\["\\])*"/y,
  /=[A-Za-z*][!#$%&'*+\-.^_`|~0-9A-Za-z:/]*/y,
  /=:[A-Za-z0-9+/=]*:/y,
  /=\?[01]/y,
  /=@-?\d{1,15}(?![\d.])/y,
];
const displayString = /=%"(?:[ !#$&-~]|%[0-9a-f]{2})*"/y;

/**
 * A structured string with its parameters: the one type of RFC 9651 that an idempotency key may have. Parameters mean
 * nothing here, but a field whose parameters do not parse is malformed as a whole (RFC 9651 section 4.2), so they are
 * checked.
 *
 * `text` is the whole field value, without the white space around it.
 */
export function parseStructuredString(text: string): StructuredString {
  const string = matchAt(quoted, text, 0);
  if (string === undefined) return { ok: false, detail: whyNotQuoted(text) };
  const end = afterParameters(text, string.length);
  if (end !== text.length) {
    return { ok: false, detail: "something other than well-formed parameters follows the closing quote" };
  }
  const value = string.slice(1, -1).replace(/\\(["\\])/g, "$1");
  return { ok: true, value, hasParameters: end > string.length };
}

function whyNotQuoted(text: string): string {
  if (!text.startsWith('"')) return "it is not in double quotes";
  if (/[^ -~]/.test(text)) return "it holds a character outside printable ASCII";
  return "the quotes are not closed, or a backslash stands before something other than a quote or a backslash";
}

/** The position after the parameters that parse; malformed ones are not consumed. */
function afterParameters(text: string, from: number): number {
  let position = from;
  for (;;) {
    const name = matchAt(parameterName, text, position);
    if (name === undefined) return position;
    const value = position + name.length;
    position = text[value] === "=" ? afterBareItem(text, value) : value;
    if (position < 0) return value;
  }
}

function afterBareItem(text: string, from: number): number {
  for (const item of bareItems) {
    const match = matchAt(item, text, from);
    if (match !== undefined) return from + match.length;
  }
  const display = matchAt(displayString, text, from);
  return display !== undefined && isUtf8(display.slice(3, -1)) ? from + display.length : -1;
}

function isUtf8(percentEncoded: string): boolean {
  try {
    decodeURIComponent(percentEncoded);
    return true;
  } catch {
    return false;
  }
}

function matchAt(pattern: RegExp, text: string, position: number): string | undefined {
  pattern.lastIndex = position;
  return pattern.exec(text)?.[0];
}

export type KeyVerdict =
  | { readonly verdict: "fine" }
  | {
      readonly verdict: "warn" | "refuse";
      readonly reason: "personal-data" | "low-entropy";
      /** Fit to be shown to the client; never the key itself. */
      readonly detail: string;
    };

/** Below this, a key counts as one that could be guessed. */
export const entropyBitsMin = 64;

// Versions 1 to 8 (RFC 9562): the nil and the max UUID are constants, not keys.
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const ulid = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/i;

const emailAddress = /[^\s@]\s?(?:@|%40)[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}/i;
/** Order, customer, card and account numbers; a longer number counts as random. */
const bareNumber = /^\d{1,19}$/;
const phoneNumber = /^(?:tel:)?\+?[\d ()./-]+$/i;
const internationalPhoneNumber = /(?:^|\D)(?:\+|%2b)\d{8,15}(?!\d)/i;

/**
 * Judges what a key reveals. Keys are stored, logged by proxies and shown to people on call, so they should be random,
 * not the address or number of a person. Where callers share a scope, another caller could also use a key on purpose
 * that it can guess.
 */
export function judgeKey(key: Key, policy: Required<KeyPolicy>): KeyVerdict {
  if (uuid.test(key) || ulid.test(key)) return { verdict: "fine" };
  const personal = judgePersonalData(key, policy.personalData);
  if (personal.verdict === "refuse") return personal;
  const guessable = judgeEntropy(key, policy.lowEntropy);
  return personal.verdict === "fine" || guessable.verdict === "refuse" ? guessable : personal;
}

function judgePersonalData(key: Key, policy: Required<KeyPolicy>["personalData"]): KeyVerdict {
  const looksLike = policy === "allow" ? undefined : personalDataIn(key);
  if (policy === "allow" || looksLike === undefined) return { verdict: "fine" };
  return {
    verdict: policy,
    reason: "personal-data",
    detail: `The key looks like ${looksLike}. Keys are kept and logged: use a random one, such as a UUID.`,
  };
}

function judgeEntropy(key: Key, policy: Required<KeyPolicy>["lowEntropy"]): KeyVerdict {
  if (policy === "allow" || entropyBits(key) >= entropyBitsMin) return { verdict: "fine" };
  return {
    verdict: policy,
    reason: "low-entropy",
    detail: `The key could be guessed (under about ${entropyBitsMin} bits). Use a random one, such as a UUID.`,
  };
}

function personalDataIn(key: string): string | undefined {
  if (emailAddress.test(key)) return "an e-mail address";
  if (bareNumber.test(key)) return "a bare number";
  const digits = key.replace(/\D/g, "").length;
  const isPhoneNumber = phoneNumber.test(key) && digits >= 7 && digits <= 15;
  return isPhoneNumber || internationalPhoneNumber.test(key) ? "a telephone number" : undefined;
}

/** The bits that a word of a language adds against guessing: one of about four thousand words. */
const wordBits = 12;
const wordLettersMax = 12;

/**
 * An upper estimate from the look of the key alone: the sum over the pieces between separators, where a piece of
 * letters of one case (or capitalised) is a word, and any other is as many random characters as it has, of the smallest
 * usual alphabet that holds them. Characters that carry on a run (aaa, 345, cba) count nothing from the third on. It
 * cannot see that digits are a date or a counter.
 */
export function entropyBits(key: string): number {
  let bits = 0;
  for (const piece of key.split(/[^A-Za-z0-9]+/)) bits += pieceBits(piece);
  return bits;
}

function pieceBits(piece: string): number {
  const random = countWithoutRuns(piece) * Math.log2(alphabetSize(piece));
  const isWord = piece.length <= wordLettersMax && /^(?:[a-z]+|[A-Z]+|[A-Z][a-z]+)$/.test(piece);
  return isWord ? Math.min(random, wordBits) : random;
}

function alphabetSize(piece: string): number {
  if (/^\d*$/.test(piece)) return 10;
  if (/^(?:[\da-f]*|[\dA-F]*)$/.test(piece)) return 16;
  if (/^(?:[a-z]*|[A-Z]*)$/.test(piece)) return 26;
  if (/^(?:[\da-z]*|[\dA-Z]*)$/.test(piece)) return 36;
  return 62;
}

function countWithoutRuns(piece: string): number {
  let count = 0;
  for (let index = 0; index < piece.length; index += 1) {
    const step = piece.charCodeAt(index) - piece.charCodeAt(index - 1);
    const stepBefore = piece.charCodeAt(index - 1) - piece.charCodeAt(index - 2);
    if (step !== stepBefore || Math.abs(step) > 1) count += 1;
  }
  return count;
}
