/**
 * Header lines → key.
 *
 * The draft of the Idempotency-Key header makes it a structured string (RFC 9651), `"8e03978e"`; most APIs and clients
 * send the bare text, `8e03978e`. `lenient` takes both, and both name the same key. Bare text there is limited to an
 * alphabet in which a proxy's merging of two lines, a parameter, a slip of quoting or an unfilled template cannot pass
 * for a key: letters, digits and ! # $ % & * + - . / : = ? @ ^ _ ` | ~
 *
 * A key is never cut, trimmed inside its quotes or normalised: two keys that a client holds apart stay apart.
 */
import type { Profile } from "../contract/profiles.ts";
import type { Key } from "../contract/record.ts";
import { parseStructuredString } from "./structured-string.ts";

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

/** Quotes are data here, as at Stripe; only inside them may a comma, semicolon or space stand. */
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

/** Headers come from profiles, so they are few. */
function titleCase(header: string): string {
  let title = titles.get(header);
  if (title === undefined) {
    title = header.replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase());
    titles.set(header, title);
  }
  return title;
}
