/**
 * Migrations of the parts that live in the user's own database and reach it through a `TransactionRunner` alone. The ledger
 * table is the one of the stores; the lock is the same, too, so a store and an outbox may be migrated at once.
 *
 * PostgreSQL and SQLite apply all that is pending in one transaction. MySQL and MariaDB commit around every DDL statement:
 * there each statement of a migration must be one that may be run again, or adds a column or an index, which is looked for.
 */
import { IchidoError } from "../core/errors.ts";
import type { TransactionHandle, TransactionRunner } from "../core/transaction.ts";
import { numberOf, optionalNumber, textOf } from "./columns.ts";
import { dropLeftFunctions } from "./left-functions.ts";
import { checksumOf, pendingMigrations, type LedgerRow, type Migration } from "./migration.ts";
import { namedTables, schemaOf } from "./table-prefix.ts";

type Dialect = TransactionHandle["dialect"];

export interface RunnerPart {
  /** Numbers its steps apart from the others in one ledger. */
  readonly part: "outbox" | "inbox";
  readonly migrations: Readonly<Record<Dialect, readonly Migration[]>>;
  /** As `checkPrefix` gives it. */
  readonly prefix: string;
}

export interface RunnerMigrator {
  /** What `migrate` would run, complete with lock and ledger, for people with their own tool; empty when up to date. */
  plan(): Promise<string>;
  /** How many steps this call applied. */
  migrate(): Promise<number>;
}

/** MySQL ends a transaction with every table that is created. */
const schema = { unwatched: true };
const lockSeconds = 30;
const lockName = (prefix: string): string =>
  `concat('ichido-', sha1(concat(coalesce(database(), ''), '.', '${prefix}')))`;

const ledgers: Readonly<Record<Dialect, string>> = {
  postgres: `create table {prefix}migrations (
  part text collate "C" not null,
  version integer not null,
  name text not null,
  checksum text not null,
  applied_at timestamptz not null default clock_timestamp(),
  primary key (part, version)
)`,
  mysql: `create table if not exists {prefix}migrations (
  part varchar(64) character set ascii collate ascii_bin not null,
  version int not null,
  name varchar(200) character set ascii collate ascii_bin not null,
  checksum char(64) character set ascii collate ascii_bin not null,
  applied_us bigint not null,
  primary key (part, version)
) engine = InnoDB default character set ascii collate ascii_bin`,
  sqlite: `CREATE TABLE IF NOT EXISTS {prefix}migrations (
  part       TEXT    NOT NULL,
  version    INTEGER NOT NULL,
  name       TEXT    NOT NULL,
  checksum   TEXT    NOT NULL,
  applied_us INTEGER NOT NULL,
  PRIMARY KEY (part, version)
) STRICT`,
};

const nowUs: Readonly<Record<Exclude<Dialect, "postgres">, string>> = {
  mysql: "timestampdiff(microsecond, timestamp'1970-01-01 00:00:00', utc_timestamp(6))",
  sqlite: "CAST(unixepoch('subsec') * 1000 AS INTEGER) * 1000",
};

/** Every part of it is this package's own text, but for the prefix, which `checkPrefix` has seen. */
function ledgerInsert(dialect: Dialect, part: string, step: Migration): string {
  const values = `'${part}', ${step.version}, '${step.name}', '${checksumOf(step)}'`;
  if (dialect === "postgres")
    return `insert into {prefix}migrations (part, version, name, checksum) values (${values})`;
  return `INSERT INTO {prefix}migrations (part, version, name, checksum, applied_us) VALUES (${values}, ${nowUs[dialect]})`;
}

/** A notice for what is there already would be printed by some drivers, so nothing is said `if not exists`. */
function ledgerOnPostgres(prefix: string): string {
  const schema = schemaOf(prefix);
  const create =
    schema === undefined
      ? ""
      : `  if to_regnamespace('"${schema}"') is null then\n    create schema "${schema}";\n  end if;\n`;
  // The look at pg_class makes the session hear what others created while it waited for the lock.
  return `do $ichido_ledger$
begin
  perform from pg_catalog.pg_class limit 1;
${create}  if to_regclass('{prefix}migrations') is null then
    ${ledgers.postgres.replaceAll("\n", "\n    ")};
  end if;
end
$ichido_ledger$`;
}

/**
 * Single statements without comments: drivers take one a call, and some silently ignore the rest. PostgreSQL takes a
 * whole step at once, inside a block, whatever bodies of functions are in it.
 */
export function statementsOf(dialect: Dialect, step: Migration, prefix: string): readonly string[] {
  const { sql } = step;
  if (dialect === "postgres") {
    const left = dropLeftFunctions(step, schemaOf(prefix));
    return [
      `do $ichido_migration$\nbegin\n${left}  execute $ichido_step$\n${sql.trimEnd()}\n$ichido_step$;\nend\n$ichido_migration$`,
    ];
  }
  const parts = sql.matchAll(/--[^\n]*|\/\*[^]*?\*\/|'(?:[^'\\]|''|\\.)*'|"(?:[^"]|"")*"|`[^`]*`|;|[^-/'"`;]+|[-/]/g);
  const statements = [""];
  for (const [text] of parts) {
    if (text === ";") statements.push("");
    else if (!text.startsWith("--") && !text.startsWith("/*")) statements[statements.length - 1] += text;
  }
  return statements.map((text) => text.replace(/\n\s*\n/g, "\n").trim()).filter((text) => text !== "");
}

const addsColumn = /^alter table (\S+)\s+add column (\S+)/;
const createsIndex = /^create index (\S+) on (\S+)/;

/** MySQL knows no `if not exists` for columns and indexes: a migration that died half-way left them behind. */
async function isDone(handle: TransactionHandle, sql: string): Promise<boolean> {
  if (handle.dialect !== "mysql") return false;
  const [, table, column] = addsColumn.exec(sql) ?? [];
  const [, index, indexed] = createsIndex.exec(sql) ?? [];
  if (table === undefined && index === undefined) return false;
  const { rows } = await (table === undefined
    ? handle.execute(
        "select 1 as found from information_schema.statistics where table_schema = database() and table_name = ? and index_name = ?",
        [indexed, index],
      )
    : handle.execute(
        "select 1 as found from information_schema.columns where table_schema = database() and table_name = ? and column_name = ?",
        [table, column],
      ));
  return rows.length > 0;
}

async function ledgerExists(handle: TransactionHandle, prefix: string): Promise<boolean> {
  const table = `${prefix}migrations`;
  const { rows } =
    handle.dialect === "postgres"
      ? await handle.execute("select 1 as found where to_regclass($1) is not null", [table])
      : handle.dialect === "mysql"
        ? await handle.execute(
            "select 1 as found from information_schema.tables where table_schema = database() and table_name = ?",
            [table],
          )
        : await handle.execute("SELECT 1 AS found FROM sqlite_schema WHERE type = 'table' AND name = ?", [table]);
  return rows.length > 0;
}

async function readLedger(handle: TransactionHandle, { part, prefix }: RunnerPart): Promise<readonly LedgerRow[]> {
  const place = handle.dialect === "postgres" ? "$1" : "?";
  const { rows } = await handle.execute(
    `select version, checksum from ${prefix}migrations where part = ${place} order by version`,
    [part],
  );
  return rows.map((row) => ({ version: numberOf(row, "version"), checksum: textOf(row, "checksum") }));
}

/** Throws `schema-missing` with what to do. One or two reads: at start, never per message. */
export async function requireSchema(handle: TransactionHandle, wanted: RunnerPart): Promise<void> {
  const { part, prefix } = wanted;
  const found = await ledgerExists(handle, prefix);
  const [next] = pendingMigrations(
    part,
    wanted.migrations[handle.dialect],
    found ? await readLedger(handle, wanted) : [],
  );
  if (next === undefined) return;
  throw new IchidoError(
    "schema-missing",
    `the tables ${prefix}${part}… lack migration ${next.version} (${next.name}); call ${part}.migrate() once at deploy, ` +
      `or run the text of ${part}.plan() with your own tool`,
  );
}

export function createRunnerMigrator(
  options: RunnerPart & { readonly transactions: TransactionRunner<unknown> },
): RunnerMigrator {
  const { transactions, part, prefix } = options;
  const { dialect } = transactions;
  const known = options.migrations[dialect];
  const name = (sql: string): string => namedTables(prefix, sql);

  async function apply(handle: TransactionHandle): Promise<number> {
    const pending = pendingMigrations(part, known, await readLedger(handle, options));
    for (const step of pending) {
      for (const sql of statementsOf(dialect, step, prefix)) {
        if (!(await isDone(handle, name(sql)))) await handle.execute(name(sql), []);
      }
      await handle.execute(name(ledgerInsert(dialect, part, step)), []);
    }
    return pending.length;
  }

  const ways: Readonly<Record<Dialect, () => Promise<number>>> = {
    postgres: () =>
      transactions.run(async (_tx, handle) => {
        await handle.execute("select pg_advisory_xact_lock(hashtext('ichido.migrate'), hashtext($1))", [prefix]);
        await handle.execute(name(ledgerOnPostgres(prefix)), []);
        return apply(handle);
      }),
    sqlite: () =>
      transactions.run(async (_tx, handle) => {
        await handle.execute(name(ledgers.sqlite), []);
        // Some libraries begin without the write lock; this takes it before anything is read.
        await handle.execute(name("DELETE FROM {prefix}migrations WHERE part = ''"), []);
        return apply(handle);
      }),
    mysql: () => migrateMysql(transactions, prefix, name(ledgers.mysql), apply),
  };

  return {
    async plan() {
      const pending = await transactions.run(async (_tx, handle) =>
        pendingMigrations(part, known, (await ledgerExists(handle, prefix)) ? await readLedger(handle, options) : []),
      );
      if (pending.length === 0) return "";
      const head = {
        postgres: [
          "begin",
          `select pg_advisory_xact_lock(hashtext('ichido.migrate'), hashtext('${prefix}'))`,
          ledgerOnPostgres(prefix),
        ],
        mysql: [`select get_lock(${lockName(prefix)}, ${lockSeconds})`, ledgers.mysql],
        sqlite: ["BEGIN IMMEDIATE", ledgers.sqlite],
      }[dialect];
      const steps = pending.flatMap((step) => [step.sql.trim().replace(/;$/, ""), ledgerInsert(dialect, part, step)]);
      const tail = { postgres: "commit", mysql: `select release_lock(${lockName(prefix)})`, sqlite: "COMMIT" }[dialect];
      return name(`${[...head, ...steps, tail].join(";\n\n")};\n`);
    },
    migrate: () => ways[dialect](),
  };
}

/**
 * The lock belongs to the connection, since DDL ends the transaction. A handle refuses everything after a failed statement,
 * so a lock that is left on a pooled connection is given back, or that connection ended, from outside.
 */
async function migrateMysql(
  transactions: TransactionRunner<unknown>,
  prefix: string,
  createLedger: string,
  apply: (handle: TransactionHandle) => Promise<number>,
): Promise<number> {
  let connection: number | undefined;
  try {
    return await transactions.run(async (_tx, handle) => {
      // By itself: a row that cannot be read must not leave a lock behind.
      const id = numberOf((await handle.execute("select connection_id() as id", [])).rows[0] ?? {}, "id");
      const { rows } = await handle.execute(`select get_lock(${lockName(prefix)}, ${lockSeconds}) as held`, []);
      if (optionalNumber(rows[0] ?? {}, "held") !== 1) {
        throw new IchidoError(
          "store-unavailable",
          `another process has been migrating these tables for more than ${lockSeconds} s; wait for it and try again`,
        );
      }
      connection = id;
      await handle.execute(createLedger, []);
      const applied = await apply(handle);
      await handle.execute(`select release_lock(${lockName(prefix)}) as released`, []);
      connection = undefined;
      return applied;
    }, schema);
  } catch (error) {
    if (connection !== undefined) await freeLock(transactions, prefix, connection).catch(() => undefined);
    throw error;
  }
}

async function freeLock(transactions: TransactionRunner<unknown>, prefix: string, holder: number): Promise<void> {
  await transactions.run(async (_tx, handle) => {
    await handle.execute(`select release_lock(${lockName(prefix)}) as released`, []);
    const { rows } = await handle.execute(`select is_used_lock(${lockName(prefix)}) as id`, []);
    if (optionalNumber(rows[0] ?? {}, "id") === holder) await handle.execute(`kill ${holder}`, []);
  });
}
