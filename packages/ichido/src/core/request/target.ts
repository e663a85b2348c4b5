/**
 * A request target as it is compared. Equal are targets that RFC 3986 calls equivalent whatever the scheme (section
 * 6.2.2.1 and 6.2.2.2: the case of %-escapes, and escapes of letters, digits, - . _ ~, which proxies and clients rewrite at
 * will), and those that differ in the order of differently named query parameters only. Everything else is as sent: `+` is
 * not `%20`, `a` is not `a=`, and parameters of the same name stay in order, since handlers can tell these apart.
 */
export interface ComparableTarget {
  readonly path: string;
  readonly query: string;
}

export function comparableTarget(target: string): ComparableTarget {
  const origin = target.startsWith("/") ? target : withoutOrigin(target);
  const text = origin.includes("%") ? origin.replace(/%[0-9a-f]{2}/gi, normaliseEscape) : origin;
  const mark = text.indexOf("?");
  if (mark < 0) return { path: text, query: "" };
  return { path: text.slice(0, mark), query: sortQuery(text.slice(mark + 1)) };
}

/** RFC 9112 section 3.2.2: a server takes the absolute form, by which proxies are asked, for the same target. */
function withoutOrigin(target: string): string {
  const path = target.replace(/^https?:\/\/[^/?#]*/i, "");
  return path.startsWith("/") || path === target ? path : `/${path}`;
}

function normaliseEscape(escape: string): string {
  const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
  return /[\w.~-]/.test(character) ? character : escape.toUpperCase();
}

function sortQuery(query: string): string {
  const pairs = query.split("&").filter((pair) => pair !== "");
  if (pairs.length < 2) return pairs.join("");
  return pairs
    .map((pair) => ({ pair, name: nameOf(pair) }))
    .sort((a, b) => (a.name === b.name ? 0 : a.name < b.name ? -1 : 1))
    .map(({ pair }) => pair)
    .join("&");
}

function nameOf(pair: string): string {
  const equals = pair.indexOf("=");
  return equals < 0 ? pair : pair.slice(0, equals);
}
