/** Creating and updating tables, only when asked to. Several processes may migrate one file at once: the lock decides. */
import { IchidoError } from "../../core/errors.ts";
import { checksumOf, pendingMigrations, type LedgerRow, type Migration } from "../../sql/migration.ts";
import type { Connection } from "./database.ts";
import { integer, text } from "./row.ts";
import { statements } from "./statements.generated.ts";

export interface MigrationPart {
  /** `records`, `outbox` or `inbox`. */
  readonly part: string;
  readonly migrations: readonly Migration[];
}

function ledgerOf(connection: Connection, part: string): readonly LedgerRow[] | undefined {
  if (connection.get(statements.ledgerExists) === undefined) return undefined;
  return connection
    .all(statements.ledger, part)
    .map((row) => ({ version: integer(row, "version"), checksum: text(row, "checksum") }));
}

/** The SQL that is still to run, for people who run it with their own tool; empty when the schema is up to date. */
export function planMigrations(connection: Connection, parts: readonly MigrationPart[], nowUs: number): string {
  const missing = ledgerOf(connection, "") === undefined;
  const texts = parts.flatMap(({ part, migrations }) =>
    pendingMigrations(part, migrations, ledgerOf(connection, part) ?? []).map(
      (step) => `${step.sql.trimEnd()}\n\n${ledgerInsert(part, step, nowUs)}`,
    ),
  );
  if (texts.length === 0) return "";
  return [
    "BEGIN IMMEDIATE;",
    ...(missing ? [`${statements.createLedger.trimEnd()};`] : []),
    ...texts,
    "COMMIT;",
    "",
  ].join("\n\n");
}

function ledgerInsert(part: string, step: Migration, nowUs: number): string {
  const values = [part, step.version, step.name, checksumOf(step), nowUs];
  const written = values.map((value) =>
    typeof value === "number" ? String(value) : `'${value.replaceAll("'", "''")}'`,
  );
  return `INSERT INTO ichido_migrations (part, version, name, checksum, applied_us) VALUES (${written.join(", ")});`;
}

/** Inside a transaction that holds the write lock, so that a second process finds the work done. */
export function applyMigrations(connection: Connection, parts: readonly MigrationPart[], nowUs: number): number {
  connection.exec(statements.createLedger.trimEnd());
  let applied = 0;
  for (const { part, migrations } of parts) {
    for (const step of pendingMigrations(part, migrations, ledgerOf(connection, part) ?? [])) {
      connection.exec(step.sql);
      connection.run(statements.addLedger, part, step.version, step.name, checksumOf(step), nowUs);
      applied += 1;
    }
  }
  return applied;
}

export function requireSchema(connection: Connection, { part, migrations }: MigrationPart): void {
  const ledger = ledgerOf(connection, part);
  if (ledger === undefined) {
    throw new IchidoError(
      "schema-missing",
      `the SQLite file ${connection.file} holds no tables of ichido; call store.migrate() once, or run store.plan() yourself`,
    );
  }
  const [next] = pendingMigrations(part, migrations, ledger);
  if (next !== undefined) {
    throw new IchidoError(
      "schema-missing",
      `the SQLite file ${connection.file} lacks migration ${next.version} (${next.name}) of ${part}; call store.migrate()`,
    );
  }
}
