/**
 * Numbered migrations, forward only, under an advisory lock that ends with its transaction. Each travels as one message of
 * several statements, which the server runs as one transaction on one connection: through a pooler as well, and a crash
 * in the middle leaves nothing.
 */
import { checksumOf, pendingMigrations } from "../shared/migration.ts";
import type { LedgerRow, Migration } from "../shared/migration.ts";
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

export function createMigrator(connection: Connection, options: ResolvedOptions): Migrator {
  const ledger: Statement = {
    name: "ichido_ledger",
    text: nameTables(
      options,
      "select version, checksum from {prefix}migrations where part = $1::text order by version",
    ),
  };

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
    return pending.map((step) => ({
      version: step.version,
      name: step.name,
      sql: `begin;\n${scriptOf(step, options)}commit;\n`,
    }));
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
      return pending.map(({ version }) => version);
    },
  };
}

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
  if exists (select from {prefix}migrations where part = '${part}' and version = ${step.version}) then
    return;
  end if;
  execute $ichido_step$
${step.sql}$ichido_step$;
  insert into {prefix}migrations (part, version, name, checksum)
  values ('${part}', ${step.version}, '${step.name}', '${checksumOf(step)}');
end
$ichido_migration$;
`;
  return nameTables(options, text);
}
