/**
 * A structured string with its parameters: the one type of RFC 9651 that an idempotency key may have. Parameters mean
 * nothing here, but a field whose parameters do not parse is malformed as a whole (RFC 9651 section 4.2), so they are
 * checked.
 */

export type StructuredString =
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

/** `text` is the whole field value, without the white space around it. */
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

/** The position behind the parameters that parse; malformed ones are left standing. */
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
