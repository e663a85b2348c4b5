/**
 * How each database locks, notes and applies migrations. PostgreSQL and SQLite apply one in a transaction. MySQL and MariaDB
 * commit around every DDL statement: there each statement of a migration must be one that may be run again, or adds a
 * column or an index, which is looked for.
 */
import { IchidoError } from "../core/contract/errors.ts";
import { optionalNumber } from "./columns.ts";
import { clockMs, type Dialect } from "./dialect.ts";
import { dropLeftFunctions } from "./left-functions.ts";
import { checksumOf, type Migration, type SchemaPart } from "./migration.ts";
import { schemaOf } from "./table-prefix.ts";
import type { Talk } from "./talk.ts";

/** Statements without values: all of their text is this package's own, but for the prefix, which was checked. */
export type SchemaTalk<Result> = Talk<string, readonly Readonly<Record<string, unknown>>[], Result>;

interface SchemaDialect {
  /** A statement with a row where there is a ledger to be believed. */
  readonly ledgerExists: (part: SchemaPart) => string;
  /** A step with its note in the ledger, which is created where it is missing. */
  readonly statementsOf: (part: SchemaPart, step: Migration) => readonly string[];
  /** A statement with a row where this one was run before by a migration that died half-way. */
  readonly isDone?: (sql: string) => string | undefined;
  /** Holds the talk while no other process migrates the same tables. */
  readonly locked: <Result>(part: SchemaPart, talk: () => SchemaTalk<Result>) => SchemaTalk<Result>;
}

export const schemaDialects: Readonly<Record<Dialect, SchemaDialect>> = {
  postgres: {
    ledgerExists: ({ prefix, tables: [chief] = [] }) =>
      `select 1 as found where to_regclass('${prefix}migrations') is not null` +
      (chief === undefined ? "" : ` and to_regclass('${prefix}${chief}') is not null`),
    statementsOf: (part, step) => [postgresBlock(part, step)],
    *locked(part, talk) {
      yield `select ${postgresLock(part)}`;
      return yield* talk();
    },
  },

  mysql: {
    ledgerExists: ({ prefix }) =>
      `select 1 as found from information_schema.tables where table_schema = database() and table_name = '${prefix}migrations'`,
    statementsOf: ({ part }, step) => [
      `create table if not exists {prefix}migrations (
  part varchar(64) character set ascii collate ascii_bin not null,
  version int not null,
  name varchar(200) character set ascii collate ascii_bin not null,
  checksum char(64) character set ascii collate ascii_bin not null,
  applied_us bigint not null,
  primary key (part, version)
) engine = InnoDB default character set ascii collate ascii_bin`,
      ...splitStatements(step.sql),
      ledgerInsert("mysql", part, step),
    ],
    /** There is no `if not exists` for columns and indexes that both servers know. */
    isDone(sql) {
      const [, table, column] = /^alter table (\S+)\s+add column (\S+)/.exec(sql) ?? [];
      if (table !== undefined) return found("columns", `table_name = '${table}' and column_name = '${column}'`);
      const [, index, indexed] = /^create index (\S+) on (\S+)/.exec(sql) ?? [];
      return index === undefined
        ? undefined
        : found("statistics", `table_name = '${indexed}' and index_name = '${index}'`);
    },
    /** A lock of the connection, since DDL ends the transaction. */
    *locked(part, talk) {
      const [row = {}] = yield `select get_lock(${mysqlLock(part.prefix)}, ${lockSeconds}) as held`;
      if (optionalNumber(row, "held") !== 1) {
        throw new IchidoError(
          "store-unavailable",
          `another process has been migrating these tables for more than ${lockSeconds} s; wait for it and try again`,
        );
      }
      try {
        return yield* talk();
      } finally {
        try {
          yield `select release_lock(${mysqlLock(part.prefix)}) as released`;
        } catch {
          // It ends with the connection.
        }
      }
    },
  },

  sqlite: {
    ledgerExists: ({ prefix }) =>
      `SELECT 1 AS found FROM sqlite_schema WHERE type = 'table' AND name = '${prefix}migrations'`,
    statementsOf: ({ part }, step) => [
      `CREATE TABLE IF NOT EXISTS {prefix}migrations (
  part       TEXT    NOT NULL,
  version    INTEGER NOT NULL,
  name       TEXT    NOT NULL,
  checksum   TEXT    NOT NULL,
  applied_us INTEGER NOT NULL,
  PRIMARY KEY (part, version)
) STRICT`,
      ...splitStatements(step.sql),
      ledgerInsert("sqlite", part, step),
    ],
    *locked({ prefix }, talk) {
      // Some libraries begin without the write lock, and a transaction that has read cannot wait for it any more: the
      // first statement must be one that writes, whatever is there.
      yield `CREATE VIEW ${prefix}migrating AS SELECT 1`;
      yield `DROP VIEW ${prefix}migrating`;
      return yield* talk();
    },
  },
};

const lockSeconds = 30;

export function mysqlLock(prefix: string): string {
  return `concat('ichido-', sha1(concat(coalesce(database(), ''), '.', '${prefix}')))`;
}

function found(table: string, what: string): string {
  return `select 1 as found from information_schema.${table} where table_schema = database() and ${what}`;
}

function noteOf(part: string, step: Migration): string {
  return `'${part}', ${step.version}, '${step.name}', '${checksumOf(step)}'`;
}

function ledgerInsert(dialect: "mysql" | "sqlite", part: string, step: Migration): string {
  return `insert into {prefix}migrations (part, version, name, checksum, applied_us)
values (${noteOf(part, step)}, ${clockMs[dialect]} * 1000)`;
}

/** Single statements without comments: drivers take one per call, and some silently ignore the rest. */
export function splitStatements(sql: string): readonly string[] {
  const parts = sql.matchAll(/--[^\n]*|\/\*[^]*?\*\/|'(?:[^'\\]|''|\\.)*'|"(?:[^"]|"")*"|`[^`]*`|;|[^-/'"`;]+|[-/]/g);
  const statements = [""];
  for (const [text] of parts) {
    if (text === ";") statements.push("");
    else if (!text.startsWith("--") && !text.startsWith("/*")) statements[statements.length - 1] += text;
  }
  return statements.map((text) => text.replace(/\n\s*\n/g, "\n").trim()).filter((text) => text !== "");
}

/** Ends with the transaction: nothing of it stays on a pooled session. */
function postgresLock({ prefix }: SchemaPart): string {
  return `pg_advisory_xact_lock(hashtext('ichido.migrate'), hashtext('${prefix}'))`;
}

/**
 * A whole step in one statement: atomic by itself, also through a pooler and on a connection that others use. A notice for
 * what is there already would be printed by some drivers, so nothing is said `if not exists`.
 */
function postgresBlock(part: SchemaPart, step: Migration): string {
  const schema = schemaOf(part.prefix);
  const createSchema =
    schema === undefined
      ? ""
      : `  if to_regnamespace('"${schema}"') is null then
    create schema "${schema}";
  end if;
`;
  // The look at pg_class makes the session see what other sessions created while it waited for the lock; to_regclass
  // alone may answer from what it knew before.
  return `do $ichido_migration$
begin
  perform ${postgresLock(part)};
  perform from pg_catalog.pg_class limit 1;
${createSchema}  if to_regclass('{prefix}migrations') is null then
    create table {prefix}migrations (
      part text collate "C" not null,
      version integer not null,
      name text not null,
      checksum text not null,
      applied_at timestamptz not null default clock_timestamp(),
      primary key (part, version)
    );
  end if;
${forgetDropped(part)}  if exists (select from {prefix}migrations where part = '${part.part}' and version = ${step.version}) then
    return;
  end if;
${step.version === 1 ? dropEmpty(part) : ""}${dropLeftFunctions(step, schema)}  execute $ichido_step$
${step.sql.trimEnd()}
$ichido_step$;
  insert into {prefix}migrations (part, version, name, checksum)
  values (${noteOf(part.part, step)});
end
$ichido_migration$`;
}

/** A tool dropped the tables and left the ledger. */
function forgetDropped({ part, tables: [chief] = [] }: SchemaPart): string {
  if (chief === undefined) return "";
  return `  if to_regclass('{prefix}${chief}') is null then
    delete from {prefix}migrations where part = '${part}';
  end if;
`;
}

/**
 * The ledger was emptied together with all the tables: nothing is lost with them. The row of the clock is no sign of a
 * record.
 */
function dropEmpty({ tables = [] }: SchemaPart): string {
  const names = tables.map((table) => `{prefix}${table}`);
  const [chief] = names;
  if (chief === undefined) return "";
  const telling = names.filter((name) => name !== "{prefix}clock");
  return `  if to_regclass('${chief}') is not null then
    lock table ${telling.join(", ")} in access exclusive mode;
    if not (${telling.map((name) => `exists (select from ${name})`).join(" or ")}) then
      drop table ${names.join(", ")};
    end if;
  end if;
`;
}
