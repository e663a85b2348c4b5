/**
 * Statements as their files have them, for any dialect: `{token}` for what dialects and users name differently, `:name` for
 * values. A text is made once; what is sent then depends on how its values travel.
 */
import { clockMs, type Dialect } from "./dialect.ts";
import { bareOf } from "./table-prefix.ts";

export type Tokens = Readonly<Record<string, string>>;
export type Value = string | number | Uint8Array | null | readonly number[] | readonly string[] | readonly Uint8Array[];
export type Values = Readonly<Record<string, Value>>;

const nestingMax = 8;

/** Comments would travel with every call. The files have them on lines of their own, and none inside a literal. */
export function plainText(text: string): string {
  return text
    .replace(/^\s*--.*$/gm, "")
    .replace(/\s+/g, " ")
    .trim();
}

/** A token may contain tokens; unknown tokens stay. */
export function expandText(text: string, tokens: Tokens): string {
  let sql = plainText(text);
  for (let depth = 0; depth < nestingMax && sql.includes("{"); depth += 1) {
    sql = sql.replace(/\{([\w-]+)\}/g, (whole, name: string) => plainText(tokens[name] ?? whole));
  }
  return sql;
}

/** The texts of a part, each made when it is first wanted: no process uses them all. */
export function createTexts<Verb extends string>(
  dialect: Dialect,
  prefix: string,
  given: Readonly<Partial<Record<Verb, string>>>,
  own: Tokens = {},
): (verb: Verb) => string {
  const tokens: Tokens = { prefix, bare: bareOf(prefix), now: clockMs[dialect], ...own };
  const made = new Map<Verb, string>();
  return (verb) => {
    let text = made.get(verb);
    if (text !== undefined) return text;
    const wanted = given[verb];
    if (wanted === undefined) throw new TypeError(`${dialect} has no statement ${verb}`);
    text = expandText(wanted, tokens);
    made.set(verb, text);
    return text;
  };
}

const place = /(?<![:\w]):([a-z]\w*)/gi;

/** Text and names alternate, beginning and ending with text. Texts are few, and the same ones come again and again. */
const split = new Map<string, readonly string[]>();

function partsOf(text: string): readonly string[] {
  let parts = split.get(text);
  if (parts === undefined) split.set(text, (parts = text.split(place)));
  return parts;
}

export interface FixedStatement {
  readonly sql: string;
  /** Whose values go where, in order. */
  readonly names: readonly string[];
}

/** With a place for every value, numbers and nulls too: always the same text, which can stay prepared. */
export function fixedStatement(dialect: Dialect, text: string): FixedStatement {
  const names: string[] = [];
  const parts = partsOf(text).map((part, index) => {
    if (index % 2 === 0) return part;
    names.push(part);
    return markOf(dialect, names.length);
  });
  return { sql: parts.join(""), names };
}

export function valueOf<Each>(values: Readonly<Record<string, Each | undefined>>, name: string): Each {
  const value = values[name];
  if (value === undefined) throw new TypeError(`the statement wants a value for ${name}`);
  return value;
}

export interface BoundStatement {
  readonly sql: string;
  readonly bound: readonly unknown[];
}

/**
 * Whole numbers and nulls become part of the text: every dialect takes them there, also after LIMIT, and lists of them have
 * no fixed length. Texts and bytes always travel as values.
 */
export function bind(dialect: Dialect, text: string, values: Values): BoundStatement {
  const bound: unknown[] = [];
  const one = (name: string, value: string | number | Uint8Array): string => {
    if (typeof value === "number") return whole(name, value);
    return markOf(dialect, bound.push(typeof value === "string" ? value : bufferOf(value)));
  };
  const written = (name: string): string => {
    const value = valueOf(values, name);
    if (value === null) return "null";
    if (typeof value !== "object" || value instanceof Uint8Array) return one(name, value);
    if (value.length === 0) return textLists.has(name) ? "''" : nothing;
    return value.map((each) => one(name, each)).join(", ");
  };
  const sql = partsOf(text)
    .map((part, index) => (index % 2 === 0 ? part : written(part)))
    .join("");
  return { sql, bound };
}

/** No row has such a number, topic or hash: an empty list matches nothing, and its negation everything. */
const nothing = "-1";
const textLists: ReadonlySet<string> = new Set(["topics", "full_keys", "passed_keys"]);

function markOf(dialect: Dialect, number: number): string {
  return dialect === "postgres" ? `$${number}` : "?";
}

function whole(name: string, value: number): string {
  if (!Number.isSafeInteger(value)) throw new TypeError(`${name}: expected a whole number, got ${value}`);
  return value < 0 ? `(${value})` : String(value);
}

/** No copy: a window on the same memory. */
export function bufferOf(value: Uint8Array): Buffer {
  return Buffer.isBuffer(value) ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}
