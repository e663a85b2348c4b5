/** A store by its address, with the driver that is installed here: for a look without a configuration. */
import { existsSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { present } from "../core/contract/present.ts";
import type { Store } from "../core/contract/store.ts";
import type { TransactionRunner } from "../core/contract/transaction.ts";
import type { Dialect } from "../sql/dialect.ts";
import { UsageError, unreachable } from "./exit-codes.ts";
import { firstInstalled, memberOf } from "./installed.ts";

export interface Tables {
  readonly tablePrefix?: string | undefined;
  readonly schema?: string | undefined;
}

export interface OpenedStore {
  readonly store: Store;
  /** For outbox and inbox in the same database. */
  readonly transactions?: TransactionRunner<never>;
  readonly close: () => Promise<void>;
}

export type AddressKind = Dialect | "redis";

/** Without a scheme it is a file. */
export function kindOfAddress(address: string): AddressKind {
  const [, scheme] = /^([a-z][a-z0-9+.-]+):/i.exec(address) ?? [];
  switch (scheme?.toLowerCase()) {
    case undefined:
    case "sqlite":
    case "file":
      return "sqlite";
    case "postgres":
    case "postgresql":
      return "postgres";
    case "mysql":
    case "mariadb":
      return "mysql";
    case "redis":
    case "rediss":
      return "redis";
    default:
      throw new UsageError(
        `--store: expected the path of a SQLite file, or an address that begins with postgres://, mysql:// or redis://, got ${String(scheme)}:…`,
      );
  }
}

/** As it may be shown: without the password. */
export function shownAddress(address: string): string {
  return address.replace(/^(.*?:\/\/[^:@/]*):.*@/, "$1:…@").replace(/\?.*$/s, "?…");
}

/** What a driver says of an address that it cannot read, if anything, names neither the option nor what is wrong. */
function checkAddress(address: string, kind: Exclude<AddressKind, "sqlite">): void {
  // PostgreSQL's own forms: a socket's folder in place of the host, several hosts.
  const whole = kind === "postgres" ? address.replace("@/", "@host/") : address;
  if (kind === "postgres" && /^\w+:\/\/[^/?]*,/.test(whole)) return;
  try {
    const { username, password } = new URL(whole);
    // The driver of PostgreSQL takes a bare percent sign for itself.
    if (kind !== "postgres") decodeURIComponent(`${username}${password}`);
  } catch {
    throw new UsageError(
      `--store: expected ${kind}://host:port/database with a port up to 65535, and signs that mean something in an address, in a name or a password, as %40 and the like; got ${shownAddress(address)}`,
    );
  }
}

async function openSqlite(address: string, tables: Tables, cwd: string, create: boolean): Promise<OpenedStore> {
  const bare = address.replace(/^(?:sqlite|file):(?:\/\/(?=\/))?/i, "");
  const path = isAbsolute(bare) ? bare : join(cwd, bare);
  if (bare.includes("://"))
    throw new UsageError("--store: an address stands in quotes or after a blank; give it without them");
  // SQLite would make an empty file of a path that was misspelt.
  if (!create && !existsSync(path)) throw unreachable(`the SQLite file ${bare} is not there`);
  const { openSqliteStore, sqliteStore } = await import("../stores/sqlite/index.ts");
  const { nodeSqliteTransactions } = await import("../transactions/index.ts");
  const { DatabaseSync } = await import("node:sqlite");
  // Made private to its owner where it is new.
  if (create) await (await openSqliteStore(path)).close();
  const database = new DatabaseSync(path, { timeout: 5_000 });
  return {
    store: sqliteStore(database, present({ tablePrefix: tables.tablePrefix })),
    transactions: nodeSqliteTransactions(database) as TransactionRunner<never>,
    close: async () => database.close(),
  };
}

interface Ending {
  end(): Promise<unknown>;
}

async function openPostgres(address: string, tables: Tables): Promise<OpenedStore> {
  const { name, module } = await firstInstalled(["pg", "postgres"], "a PostgreSQL address");
  const { postgresStore } = await import("../stores/postgres/index.ts");
  const { pgTransactions, postgresTransactions } = await import("../transactions/index.ts");
  if (name === "pg") {
    type Pool = Ending & Parameters<typeof pgTransactions>[0] & Parameters<typeof postgresStore>[0];
    const make = memberOf<new (options: object) => Pool & { on(event: "error", listener: () => void): void }>(
      module,
      "Pool",
    );
    const pool = new make({ connectionString: address, max: 3, connectionTimeoutMillis: 5_000 });
    // A connection that is lost while idle is no end of the command.
    pool.on("error", () => undefined);
    return {
      store: postgresStore(pool, present({ ...tables })),
      transactions: pgTransactions(pool) as TransactionRunner<never>,
      close: async () => void (await pool.end()),
    };
  }
  type Sql = Ending & Parameters<typeof postgresTransactions>[0] & Parameters<typeof postgresStore>[0];
  const make = memberOf<(address: string, options: object) => Sql>(module, "default");
  const sql = make(address, { max: 3, connect_timeout: 5, onnotice: () => undefined });
  return {
    store: postgresStore(sql, present({ ...tables })),
    transactions: postgresTransactions(sql) as TransactionRunner<never>,
    close: async () => void (await sql.end()),
  };
}

async function openMysql(address: string, tables: Tables): Promise<OpenedStore> {
  const { name, module } = await firstInstalled(["mysql2/promise", "mariadb"], "a MySQL or MariaDB address");
  const { mysqlStore } = await import("../stores/mysql/index.ts");
  const { mariadbTransactions, mysql2Transactions } = await import("../transactions/index.ts");
  type Pool = Ending &
    Parameters<typeof mysqlStore>[0] &
    Parameters<typeof mysql2Transactions>[0] &
    Parameters<typeof mariadbTransactions>[0];
  const make = memberOf<(address: string) => Pool>(module, "createPool");
  const pool = make(
    name === "mariadb" ? address.replace(/^mysql:/, "mariadb:") : address.replace(/^mariadb:/, "mysql:"),
  );
  const transactions = name === "mariadb" ? mariadbTransactions(pool) : mysql2Transactions(pool);
  return {
    store: mysqlStore(pool, present({ tablePrefix: tables.tablePrefix })),
    transactions: transactions as TransactionRunner<never>,
    close: async () => void (await pool.end()),
  };
}

async function openRedis(address: string, tables: Tables): Promise<OpenedStore> {
  const { name, module } = await firstInstalled(["ioredis", "redis"], "a Redis address");
  const { redisStore } = await import("../stores/redis/index.ts");
  type Client = Parameters<typeof redisStore>[0] & { on(event: "error", listener: (error: Error) => void): void };
  const options = present({ prefix: tables.tablePrefix });
  if (name === "ioredis") {
    const make = memberOf<new (address: string, options: object) => Client & { disconnect(): void }>(module, "Redis");
    const client = new make(address, { connectTimeout: 5_000, maxRetriesPerRequest: 1, retryStrategy: () => null });
    client.on("error", () => undefined);
    return { store: redisStore(client, options), close: async () => client.disconnect() };
  }
  const make = memberOf<(options: object) => Client & { connect(): Promise<unknown>; destroy(): void }>(
    module,
    "createClient",
  );
  const client = make({ url: address, socket: { connectTimeout: 5_000, reconnectStrategy: false } });
  client.on("error", () => undefined);
  await client.connect();
  return { store: redisStore(client, options), close: async () => client.destroy() };
}

/** `create`: a SQLite file may be made. */
export async function openAddress(address: string, tables: Tables, cwd: string, create: boolean): Promise<OpenedStore> {
  const kind = kindOfAddress(address);
  if (kind !== "sqlite") checkAddress(address, kind);
  switch (kind) {
    case "sqlite":
      return openSqlite(address, tables, cwd, create);
    case "postgres":
      return openPostgres(address, tables);
    case "mysql":
      return openMysql(address, tables);
    case "redis":
      return openRedis(address, tables);
  }
}
