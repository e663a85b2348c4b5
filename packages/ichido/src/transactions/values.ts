/** Values in the form that a database's library takes; what it would take for something else never reaches it. */
import { IchidoError } from "../core/errors.ts";

/** Drivers spread an array over several places, or take an object for named values, and bind the rest elsewhere. */
function plain(value: unknown): unknown {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  throw new IchidoError(
    "option-invalid",
    `a statement was given ${Array.isArray(value) ? "an array" : "an object"} for one of its values; expected a text, a number, ` +
      "a bigint, a boolean, null, a Date or bytes",
  );
}

/** SQLite knows neither times nor truth: times are kept as text in UTC, which sorts by time and which its functions read. */
export function sqliteValue(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  return typeof value === "boolean" ? Number(value) : plain(value);
}
