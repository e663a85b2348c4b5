/** Statements in one placeholder form for libraries that want another. */

/** Everything in which a placeholder is none: quoted text, quoted names, comments. */
const opaque = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|--[^\n]*|\/\*[^]*?\*\//.source;
const numbered = new RegExp(`${opaque}|\\$(\\d+)`, "g");
const marked = new RegExp(`${opaque}|(\\?)`, "g");

export interface Fragments {
  /** One more than the values, in between which they belong. */
  readonly texts: readonly string[];
  /** In the order of their places; a value that is used twice is there twice. */
  readonly values: readonly unknown[];
}

export function fragmentsOf(
  dialect: "postgres" | "mysql" | "sqlite",
  sql: string,
  values: readonly unknown[],
): Fragments {
  const texts: string[] = [];
  const ordered: unknown[] = [];
  let from = 0;
  for (const match of sql.matchAll(dialect === "postgres" ? numbered : marked)) {
    if (match[1] === undefined) continue;
    ordered.push(values[dialect === "postgres" ? Number(match[1]) - 1 : ordered.length]);
    texts.push(sql.slice(from, match.index));
    from = match.index + match[0].length;
  }
  return { texts: [...texts, sql.slice(from)], values: ordered };
}
