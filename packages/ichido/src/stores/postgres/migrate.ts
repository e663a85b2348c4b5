/**
 * Numbered migrations, forward only, under an advisory lock that ends with its transaction. Each travels as one message of
 * several statements, which the server runs as one transaction on one connection: through a pooler as well, and a crash
 * in the middle leaves nothing.
 */
import { dropLeftFunctions, functionNames } from "../../sql/left-functions.ts";
import { checksumOf, pendingMigrations } from "../../sql/migration.ts";
import type { LedgerRow, Migration } from "../../sql/migration.ts";
import type { Connection, Statement } from "./connection.ts";
import { failureKind, toIchidoError } from "./failures.ts";
import type { ResolvedOptions } from "./options.ts";
import { numberOf, textOf } from "./row.ts";
import { knownMigrations, nameTables } from "./statements.ts";

const part = "records";
/** Building an index on a large table takes its time. */
const migrationTimeoutMs = 600_000;

export interface PlannedMigration {
  readonly version: number;
  readonly name: string;
  /** Complete, with transaction, lock and ledger, for people with their own tool. */
  readonly sql: string;
}

export interface Migrator {
  /** What `migrate` would run. */
  plan(): Promise<readonly PlannedMigration[]>;
  /** Runs what is pending; the versions that were applied by this call or, meanwhile, by another. */
  migrate(): Promise<readonly number[]>;
}

/** Not a step of its own: whether it is needed depends on how the tables were created, not on when. */
const pathSet = { version: Math.max(...knownMigrations.map(({ version }) => version)), name: "set_search_path" };

/** Functions of a migration without `schema` name their tables bare: who asks by the schema may find no such table. */
function pathlessFunctions(schema: string): string {
  const names = knownMigrations.flatMap(functionNames).join(", ");
  return `from pg_catalog.pg_proc where pronamespace = to_regnamespace('"${schema}"') and proname in (${names})
    and strpos(prosrc, '"${schema}".{bare}') = 0 and coalesce(array_to_string(proconfig, ' '), '') not like '%search_path=%'`;
}

export function createMigrator(connection: Connection, options: ResolvedOptions): Migrator {
  const ledger: Statement = {
    name: "ichido_ledger",
    text: nameTables(
      options,
      "select version, checksum from {prefix}migrations where part = $1::text and to_regclass('{prefix}records') is not null " +
        "order by version",
    ),
  };

  const pathless: Statement = { name: "ichido_pathless", text: withoutPath(options.schema) };

  function withoutPath(schema = ""): string {
    return nameTables(options, `select oid::regprocedure::text ${pathlessFunctions(schema)}`);
  }

  function setPaths(schema = ""): string {
    return nameTables(
      options,
      `do $ichido_paths$
declare
  each_function regprocedure;
begin
  for each_function in select oid ${pathlessFunctions(schema)} loop
    execute format('alter function %s set search_path = "${schema}", pg_temp', each_function);
  end loop;
end
$ichido_paths$;
`,
    );
  }

  async function applied(): Promise<readonly LedgerRow[]> {
    try {
      const rows = await connection.run(ledger, [part], options.callTimeoutMs);
      return rows.map(([version, checksum]) => ({ version: numberOf(version), checksum: textOf(checksum) }));
    } catch (error) {
      if (failureKind(error) === "schema") return [];
      throw toIchidoError(error, "plan");
    }
  }

  async function plan(): Promise<readonly PlannedMigration[]> {
    const pending = pendingMigrations(part, knownMigrations, await applied());
    const steps = pending.map((step) => ({
      version: step.version,
      name: step.name,
      sql: `begin;\n${scriptOf(step, options)}commit;\n`,
    }));
    return (await isPathNeeded()) ? [...steps, { ...pathSet, sql: setPaths(options.schema) }] : steps;
  }

  async function isPathNeeded(): Promise<boolean> {
    if (options.schema === undefined) return false;
    try {
      return (await connection.run(pathless, [], options.callTimeoutMs)).length > 0;
    } catch (error) {
      throw toIchidoError(error, "plan");
    }
  }

  return {
    plan,
    async migrate() {
      const pending = pendingMigrations(part, knownMigrations, await applied());
      for (const step of pending) {
        try {
          // Without BEGIN: a failure would leave the user's connection inside a broken transaction.
          await connection.script(scriptOf(step, options), migrationTimeoutMs);
        } catch (error) {
          throw toIchidoError(error, `migration ${step.version} (${step.name})`);
        }
      }
      if (await isPathNeeded()) {
        const script = setPaths(options.schema);
        await connection.script(script, migrationTimeoutMs).catch((error: unknown) => {
          throw toIchidoError(error, pathSet.name);
        });
      }
      return pending.map(({ version }) => version);
    },
  };
}

/** The ledger was emptied together with all the tables, as tests like to do: nothing is lost with them. */
const dropEmptyTables = `  if to_regclass('{prefix}records') is not null then
    lock table {prefix}records, {prefix}steps, {prefix}audit in access exclusive mode;
    if not exists (select from {prefix}records) and not exists (select from {prefix}steps)
      and not exists (select from {prefix}audit)
    then
      drop table {prefix}records, {prefix}steps, {prefix}audit, {prefix}clock;
    end if;
  end if;
`;

/** No statement that raises a notice when there is nothing to do: some drivers print those. */
function scriptOf(step: Migration, options: ResolvedOptions): string {
  const schema =
    options.schema === undefined
      ? ""
      : `  if to_regnamespace('"${options.schema}"') is null then
    create schema "${options.schema}";
  end if;
`;
  // The look at pg_class makes the session hear what others created while it waited for the lock; to_regclass alone may
  // answer from what it knew before.
  const text = `select pg_advisory_xact_lock(hashtext('ichido.migrate'), hashtext('{prefix}'));
do $ichido_migration$
begin
  perform from pg_catalog.pg_class limit 1;
${schema}  if to_regclass('{prefix}migrations') is null then
    create table {prefix}migrations (
      part text collate "C" not null,
      version integer not null,
      name text not null,
      checksum text not null,
      applied_at timestamptz not null default clock_timestamp(),
      primary key (part, version)
    );
  end if;
  if to_regclass('{prefix}records') is null then
    delete from {prefix}migrations where part = '${part}';
  end if;
  if exists (select from {prefix}migrations where part = '${part}' and version = ${step.version}) then
    return;
  end if;
${step.version === 1 ? dropEmptyTables : ""}${dropLeftFunctions(step, options.schema)}  execute $ichido_step$
${step.sql}$ichido_step$;
  insert into {prefix}migrations (part, version, name, checksum)
  values ('${part}', ${step.version}, '${step.name}', '${checksumOf(step)}');
end
$ichido_migration$;
`;
  return nameTables(options, text);
}
