/**
 * Text as PostgreSQL takes it. Its `text` and `jsonb` refuse U+0000 and half surrogate pairs, which a JavaScript string
 * may hold; those are written as an escape, one to one, so that they come back and never meet another text.
 */
const escape = "\u001a";
// With the u flag, a surrogate matches only when it stands alone.
// oxlint-disable-next-line no-control-regex -- control characters are what it is about
const strange = /[\0\u001a\ud800-\udfff]/gu;
// oxlint-disable-next-line no-control-regex -- as above
const escaped = /\u001a([0-9a-f]{4})/g;

// oxlint-disable-next-line no-control-regex -- as above
const strangeOnce = /[\0\u001a\ud800-\udfff]/u;

export function encodeText(text: string): string {
  if (!strangeOnce.test(text)) return text;
  return text.replace(strange, (unit) => escape + unit.charCodeAt(0).toString(16).padStart(4, "0"));
}

export function decodeText(text: string): string {
  if (!text.includes(escape)) return text;
  return text.replace(escaped, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}

export function encodeOptional(text: string | undefined): string | null {
  return text === undefined ? null : encodeText(text);
}

export function decodeMembers(members: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return mapMembers(members, decodeText);
}

export function encodeMembers(members: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return mapMembers(members, encodeText);
}

function mapMembers(
  members: Readonly<Record<string, string>>,
  map: (text: string) => string,
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [map(name), map(value)]));
}
