/**
 * Migrations: numbered, forward only, with a ledger and a lock of the server. MySQL and MariaDB commit around every DDL
 * statement, so a migration cannot be undone half-way; instead each of its statements may be run again.
 */
import { IchidoError } from "../../core/errors.ts";
import { checksumOf, pendingMigrations } from "../../sql/migration.ts";
import type { LedgerRow, Migration } from "../../sql/migration.ts";
import { integerOf } from "./client.ts";
import type { Dialect } from "./dialect.ts";
import { isColumnThere } from "./failures.ts";
import { stringOf } from "./rows.ts";
import type { Run, Session } from "./session.ts";
import { migrations } from "./statements.generated.ts";
import { text } from "./values.ts";

const part = "records";
const lockSeconds = 30;
const statementMs = 600_000;

/** A step that is still to run, as statements to show or to hand to a migration tool of your own. */
export interface PlannedMigration {
  readonly version: number;
  readonly name: string;
  readonly statements: readonly string[];
}

async function ledger(run: Run, dialect: Dialect): Promise<readonly LedgerRow[]> {
  const statement = dialect.statement("ledger");
  try {
    const { rows } = await run(statement.sql, statement.bind({ part: text("part", part) }));
    return rows.map((row) => ({ version: integerOf(row["version"]), checksum: stringOf(row["checksum"]) }));
  } catch (error) {
    if (error instanceof IchidoError && error.code === "schema-missing") return [];
    throw error;
  }
}

const pending = async (run: Run, dialect: Dialect): Promise<readonly Migration[]> =>
  pendingMigrations(part, migrations, await ledger(run, dialect));

export async function plan(session: Session, dialect: Dialect): Promise<readonly PlannedMigration[]> {
  const steps = await pending(session.run, dialect);
  return steps.map(({ version, name, sql }) => ({ version, name, statements: dialect.split(sql) }));
}

export function migrate(session: Session, dialect: Dialect): Promise<readonly PlannedMigration[]> {
  return session.onOneConnection(async (run) => {
    const prefix = text("tablePrefix", dialect.prefix);
    const lock = dialect.statement("lockMigrations");
    const [row] = (await run(lock.sql, lock.bind({ prefix, seconds: lockSeconds }), (lockSeconds + 5) * 1_000)).rows;
    if (row?.["held"] === null || integerOf(row?.["held"] ?? 0) !== 1) {
      throw new IchidoError(
        "store-unavailable",
        `another process has been migrating these tables for more than ${lockSeconds} s; wait for it and try again`,
      );
    }
    try {
      return await apply(run, dialect);
    } finally {
      const unlock = dialect.statement("unlockMigrations");
      await run(unlock.sql, unlock.bind({ prefix })).catch(() => undefined);
    }
  });
}

/** There is no `add column if not exists` that both servers know. */
async function runAgain(run: Run, sql: string): Promise<void> {
  try {
    await run(sql, [], statementMs);
  } catch (error) {
    if (!isColumnThere(error)) throw error;
  }
}

async function apply(run: Run, dialect: Dialect): Promise<readonly PlannedMigration[]> {
  await run(dialect.statement("createLedger").sql, [], statementMs);
  const applied: PlannedMigration[] = [];
  for (const step of await pending(run, dialect)) {
    const planned = { version: step.version, name: step.name, statements: dialect.split(step.sql) };
    for (const sql of planned.statements) await runAgain(run, sql);
    const note = dialect.statement("addLedger");
    const values = {
      part: text("part", part),
      version: step.version,
      name: text("name", step.name),
      checksum: text("checksum", checksumOf(step)),
    };
    await run(note.sql, note.bind(values));
    applied.push(planned);
  }
  return applied;
}
