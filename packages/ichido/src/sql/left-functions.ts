/** Functions that migrations create in PostgreSQL. */
import type { Migration } from "./migration.ts";

/** As literals in a statement. */
export function functionNames({ sql }: Migration): readonly string[] {
  return [...sql.matchAll(/^create function \{prefix\}(\w+)/gm)].map(([, name]) => `'{bare}${name}'`);
}

/**
 * PostgreSQL: a statement inside a block that drops the functions which this step is about to create. The ledger does not
 * know the step, so that they are left over: a tool dropped the tables, the ledger among them, and no functions.
 */
export function dropLeftFunctions(step: Migration, schema: string | undefined): string {
  const names = functionNames(step);
  if (names.length === 0) return "";
  const home = schema === undefined ? "current_schema()::regnamespace" : `'"${schema}"'::regnamespace`;
  return `  declare
    leftover regprocedure;
  begin
    for leftover in
      select oid from pg_catalog.pg_proc where pronamespace = ${home} and proname in (${names.join(", ")})
    loop
      execute format('drop function %s', leftover);
    end loop;
  end;
`;
}
