/**
 * Creation that can be repeated: by an id that the client chose, or by a natural key such as (tenant, invoice number).
 * The insert comes first, and the database's own unique key decides. A call that finds the row there compares its
 * content.
 */
import { knownOptions } from "../core/contract/option-checks.ts";
import { duplicateEntry, hasNumber } from "../drivers/mysql/errors.ts";
import { columnFormsOf, columnTypesOf, sameAsForm, sameAsStored } from "./stored-form.ts";
import { locking, requireSome, statementOn, type Columns, type GuardExecutor, type Statement } from "./statement.ts";

export type CreateResult =
  | { readonly outcome: "created" }
  /** It is there with the same content: a repeated request. */
  | { readonly outcome: "same" }
  /** It is there with other content. Nothing changed. */
  | { readonly outcome: "conflict" };

export interface CreateRequest {
  readonly table: string;
  /** The columns of one unique key: `{ tenant, number }`. */
  readonly key: Columns;
  /** The columns that are compared when the row exists. */
  readonly content: Columns;
  /** Columns that are written but not compared, such as the time of creation. */
  readonly other?: Columns;
}

/** `table` needs a primary or unique key on exactly the columns of `key`. */
export async function createOnce(on: GuardExecutor, request: CreateRequest): Promise<CreateResult> {
  knownOptions("createOnce", request, { table: true, key: true, content: true, other: true });
  const { table, key, content, other = {} } = request;
  requireSome(key, "key");
  if (await inserted(on, table, key, { ...other, ...content, ...key })) return { outcome: "created" };
  const look = statementOn(on);
  const comparison = await comparisonOf(on, look, table, key, content);
  const row = await look.look(
    `SELECT CASE WHEN ${comparison} THEN 1 ELSE 0 END AS found FROM ${look.name(table)} ` +
      `WHERE ${look.allEqual(key)}${locking(on)}`,
  );
  // The row was deleted between the two statements, as if it had never existed; but one call does not insert twice.
  if (row === undefined) return { outcome: "conflict" };
  return { outcome: Number(row.found) === 1 ? "same" : "conflict" };
}

/** An id that the client chose, in the column `id`. */
export function createByClientId(
  on: GuardExecutor,
  request: Omit<CreateRequest, "key"> & { readonly id: string | number },
): Promise<CreateResult> {
  knownOptions("createByClientId", request, { table: true, id: true, content: true, other: true });
  const { id, ...rest } = request;
  return createOnce(on, { ...rest, key: { id } });
}

async function inserted(on: GuardExecutor, table: string, key: Columns, row: Columns): Promise<boolean> {
  const insert = statementOn(on);
  const columns = Object.keys(row).map((column) => insert.name(column));
  const values = Object.values(row).map((value) => insert.bind(value));
  const head = `INSERT INTO ${insert.name(table)} (${columns.join(", ")}) VALUES (${values.join(", ")})`;
  if (on.dialect !== "mysql") {
    const target = Object.keys(key).map((column) => insert.name(column));
    return (await insert.change(`${head} ON CONFLICT (${target.join(", ")}) DO NOTHING`)) > 0;
  }
  // Neither IGNORE, which hides every other fault, nor ON DUPLICATE KEY, whose row count depends on the connection's
  // flags.
  try {
    await insert.change(head);
    return true;
  } catch (error) {
    const look = statementOn(on);
    const found = hasNumber(error, duplicateEntry)
      ? await look.look(`SELECT 1 AS found FROM ${look.name(table)} WHERE ${look.allEqual(key)}${locking(on)}`)
      : undefined;
    // A duplicate of another unique key is an error that the caller handles.
    if (found === undefined) throw error;
    return false;
  }
}

/** The database compares, since it knows its types; null equals null. */
async function comparisonOf(
  on: GuardExecutor,
  look: Statement,
  table: string,
  key: Columns,
  content: Columns,
): Promise<string> {
  if (on.dialect === "mysql") {
    const types = await columnTypesOf(on, table);
    // The key, too: the unique index has found it by its collation.
    const same = Object.entries({ ...content, ...key }).map(([column, value]) =>
      sameAsStored(types, column, look.name(column), look.bind(value)),
    );
    return same.join(" AND ");
  }
  const forms = on.dialect === "postgres" ? await columnFormsOf(on, look.name(table)) : undefined;
  const same = Object.entries(content).map(([column, value]) =>
    forms === undefined
      ? `${look.name(column)} IS ${look.bind(value)}`
      : sameAsForm(forms.get(column), look.name(column), look.bind(value)),
  );
  return same.length === 0 ? "1 = 1" : same.join(" AND ");
}
