/**
 * A column of a row that came through the user's library, which can be set to rename columns, or to give no names at
 * all. NULL is absent, but a column that is not there is an error. A row without its column of the key would otherwise
 * be taken for one that has no key.
 */
import { IchidoError } from "../core/contract/errors.ts";

type Row = Readonly<Record<string, unknown>>;

const bare = (name: string): string => name.replaceAll(/[_-]/g, "").toLowerCase();

/** By its name, or by that name in camel case, Pascal case or the like, where exactly one column has such a name. */
export function columnOf(row: Row, name: string): unknown {
  if (Object.hasOwn(row, name)) return row[name];
  const [alike, ...others] = Object.keys(row).filter((each) => bare(each) === bare(name));
  if (alike !== undefined && others.length === 0) return row[alike];
  throw new IchidoError(
    "usage-invalid",
    `the column ${name} is not in the row that the database's library gave: ${shapeOf(row)}. It renames or reshapes rows ` +
      "(a transform, a postProcessResponse, rowsAsArray, nestTables); give ichido an instance of the library without that option",
  );
}

function shapeOf(row: Row): string {
  return Array.isArray(row) ? "an array" : `it has ${Object.keys(row).join(", ") || "no columns"}`;
}
