/** Migrations of the parts that live in the user's own database and reach it through a `TransactionRunner` alone. */
import type { TransactionHandle, TransactionRunner } from "../core/contract/transaction.ts";
import { numberOf, optionalNumber } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import type { Migration, SchemaPart } from "./migration.ts";
import { createMigrator, requireSchema, type Migrator } from "./migrator.ts";
import { mysqlLock, type SchemaTalk } from "./schema-dialects.ts";
import { talkLater } from "./talk.ts";

export interface RunnerPart extends Pick<SchemaPart, "prefix"> {
  readonly part: "outbox" | "inbox";
  readonly transactions: TransactionRunner<unknown>;
  readonly migrations: Readonly<Record<Dialect, readonly Migration[]>>;
}

export interface RunnerMigrator {
  readonly migrator: Migrator;
  /** Throws `schema-missing` with what to do. One or two reads: at start, never per message. */
  readonly requireSchema: () => Promise<void>;
}

function hold<Result>(handle: TransactionHandle, talk: () => SchemaTalk<Result>): Promise<Result> {
  return talkLater(talk(), async (sql) => (await handle.execute(sql, [])).rows);
}

export function createRunnerMigrator({ transactions, migrations, ...named }: RunnerPart): RunnerMigrator {
  const { dialect } = transactions;
  const part: SchemaPart = { ...named, dialect, migrations: migrations[dialect] };
  const read = <Result>(talk: () => SchemaTalk<Result>): Promise<Result> =>
    transactions.run((_tx, handle) => hold(handle, talk));
  return {
    migrator: createMigrator(part, {
      read,
      write: dialect === "mysql" ? (talk) => writeMysql(transactions, part.prefix, talk) : read,
    }),
    requireSchema: () => read(() => requireSchema(part, part.part)),
  };
}

/**
 * A handle refuses everything after a failed statement, so a lock that is left on a pooled connection is given back, or
 * that connection ended, from outside.
 */
async function writeMysql<Result>(
  transactions: TransactionRunner<unknown>,
  prefix: string,
  talk: () => SchemaTalk<Result>,
): Promise<Result> {
  let connection: number | undefined;
  try {
    return await transactions.run(
      async (_tx, handle) => {
        connection = numberOf((await handle.execute("select connection_id() as id", [])).rows[0] ?? {}, "id");
        return hold(handle, talk);
      },
      // MySQL ends a transaction with every table that is created.
      { unwatched: true },
    );
  } catch (error) {
    if (connection !== undefined) await freeLock(transactions, prefix, connection).catch(() => undefined);
    throw error;
  }
}

async function freeLock(transactions: TransactionRunner<unknown>, prefix: string, holder: number): Promise<void> {
  await transactions.run(async (_tx, handle) => {
    await handle.execute(`select release_lock(${mysqlLock(prefix)}) as released`, []);
    const { rows } = await handle.execute(`select is_used_lock(${mysqlLock(prefix)}) as id`, []);
    if (optionalNumber(rows[0] ?? {}, "id") === holder) await handle.execute(`kill ${holder}`, []);
  });
}
