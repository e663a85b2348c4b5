/** Migrations of the store. Each travels as one statement of its own: through a pooler, and on a client that others use. */
import { functionNames } from "../../sql/left-functions.ts";
import { createMigrator, type Migrator } from "../../sql/migrator.ts";
import { talkLater } from "../../sql/talk.ts";
import type { Connection, Row } from "./connection.ts";
import { toIchidoError } from "./failures.ts";
import type { ResolvedOptions } from "./options.ts";
import { recordsPart } from "./schema.ts";
import { knownMigrations, nameTables, prefixOf, statementOf } from "./statements.ts";

/** Building an index on a large table takes its time. */
const migrationTimeoutMs = 600_000;

/** Not a step of its own: whether it is needed depends on how the tables were created, not on when. */
const pathSet = { version: Math.max(...knownMigrations.map(({ version }) => version)), name: "set_search_path" };

/**
 * Functions of a migration without `schema` name their tables bare: a session that calls them by the schema may find no
 * such table.
 */
function pathlessFunctions(schema: string): string {
  const names = knownMigrations.flatMap(functionNames).join(", ");
  return `from pg_catalog.pg_proc where pronamespace = to_regnamespace('"${schema}"') and proname in (${names})
    and strpos(prosrc, '"${schema}".{bare}') = 0 and coalesce(array_to_string(proconfig, ' '), '') not like '%search_path=%'`;
}

function setPaths(schema: string): string {
  return `do $ichido_paths$
declare
  each_function regprocedure;
begin
  for each_function in select oid ${pathlessFunctions(schema)} loop
    execute format('alter function %s set search_path = "${schema}", pg_temp', each_function);
  end loop;
end
$ichido_paths$`;
}

export function createStoreMigrator(connection: Connection, options: ResolvedOptions): Migrator {
  const { schema, callTimeoutMs } = options;
  const part = recordsPart(prefixOf(options));

  async function run(verb: string, sql: string, timeoutMs: number): Promise<readonly Row[]> {
    try {
      return await connection.run(statementOf(verb, sql), [], timeoutMs);
    } catch (error) {
      throw toIchidoError(error, verb);
    }
  }

  /** Rows are positional. */
  const asking =
    (verb: string, timeoutMs: number) =>
    async (sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> =>
      (await run(verb, sql, timeoutMs)).map(([version, checksum]) => ({ version, checksum }));

  const steps = createMigrator(part, {
    read: (talk) => talkLater(talk(), asking("plan", callTimeoutMs)),
    write: (talk) => talkLater(talk(), asking("migrate", migrationTimeoutMs)),
  });

  /** What gives the functions their path, where they lack it. */
  async function pathStatements(): Promise<readonly string[]> {
    if (schema === undefined) return [];
    const rows = await run("plan", nameTables(options, `select oid ${pathlessFunctions(schema)}`), callTimeoutMs);
    return rows.length > 0 ? [nameTables(options, setPaths(schema))] : [];
  }

  return {
    drift: () => steps.drift(),
    fullPlan: () => steps.fullPlan(),
    async plan() {
      const planned = await steps.plan();
      const statements = await pathStatements();
      return statements.length > 0 ? [...planned, { ...pathSet, statements }] : planned;
    },
    async migrate() {
      const applied = await steps.migrate();
      for (const sql of await pathStatements()) await run("migrate", sql, migrationTimeoutMs);
      return applied;
    },
  };
}
