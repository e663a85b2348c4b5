/** Values in the form that a database's library takes; what it would take for something else never reaches it. */
import { IchidoError } from "../core/contract/errors.ts";
import { fragmentsOf, type Fragments } from "./placeholders.ts";

/** Drivers spread an array over several places, or take an object for named values, and bind the rest elsewhere. */
function plain(value: unknown): unknown {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  throw new IchidoError(
    "usage-invalid",
    `a statement was given ${Array.isArray(value) ? "an array" : "an object"} for one of its values; expected a text, a number, ` +
      "a bigint, a boolean, null, a Date or bytes",
  );
}

/** A statement and its values as a driver takes them that marks every place alike. */
export function boundBy(
  dialect: "postgres" | "mysql" | "sqlite",
  sql: string,
  values: readonly unknown[],
): { readonly sql: string; readonly values: unknown[] } {
  if (dialect === "postgres") return { sql, values: [...values] };
  if (dialect === "sqlite") return { sql, values: values.map(sqliteValue) };
  const fragments = mysqlFragments(sql, values);
  return { sql: fragments.texts.join("?"), values: [...fragments.values] };
}

/** SQLite knows neither times nor truth: times are kept as text in UTC, which sorts by time and which its functions read. */
export function sqliteValue(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  return typeof value === "boolean" ? Number(value) : plain(value);
}

/**
 * mysql2 puts values into the text itself and escapes a quote by a backslash, which means nothing to a server that runs
 * with NO_BACKSLASH_ESCAPES. In hexadecimal a text is the same in every mode; with its character set before it, it is a
 * literal like any other to collations. Bytes are sent that way by the driver.
 */
export function mysqlFragments(sql: string, given: readonly unknown[]): Fragments {
  const { texts, values } = fragmentsOf("mysql", sql, given);
  const joined = [texts[0] ?? ""];
  const left: unknown[] = [];
  for (const [index, value] of values.entries()) {
    const after = texts[index + 1] ?? "";
    if (typeof value === "string") {
      joined[left.length] += `_utf8mb4 X'${Buffer.from(value, "utf8").toString("hex")}'${after}`;
    } else {
      left.push(mysqlValue(value));
      joined.push(after);
    }
  }
  return { texts: joined, values: left };
}

/** Any other object would become a list of assignments, or JSON; so would bytes that are no Buffer. */
export function mysqlValue(value: unknown): unknown {
  if (value instanceof Date || Buffer.isBuffer(value)) return value;
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : plain(value);
}
