/** Pools of both drivers on one database, and a MySQL session whose clock is moved by hand. */
import mariadb from "mariadb";
import type { PoolConfig as MariadbPoolConfig } from "mariadb";
import mysql2 from "mysql2/promise";
import { mysqlStore } from "ichido/mysql";
import type { MysqlPool, MysqlStore } from "ichido/mysql";

export interface Client {
  readonly pool: MysqlPool;
  /** Statements of the test itself. */
  rows(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  end(): Promise<void>;
}

export const drivers = ["mysql2", "mariadb"] as const;
export type Driver = (typeof drivers)[number];

export interface ClientOptions {
  readonly connections?: number;
  /** Sent on every new connection. */
  readonly session?: string;
  readonly mysql2?: mysql2.PoolOptions;
  readonly mariadb?: MariadbPoolConfig;
}

export function openClient(driver: Driver, url: string, options: ClientOptions = {}): Client {
  const at = new URL(url);
  const where = { host: at.hostname, port: Number(at.port), user: at.username, database: at.pathname.slice(1) };
  const connectionLimit = options.connections ?? 10;
  if (driver === "mysql2") {
    const pool = mysql2.createPool({ ...where, connectionLimit, ...options.mysql2 });
    if (options.session !== undefined) {
      const { session } = options;
      pool.pool.on("connection", (connection) => connection.query(session));
    }
    return {
      pool,
      rows: async (sql) => rowsOf((await pool.query({ sql, rowsAsArray: false }))[0]),
      end: () => pool.end(),
    };
  }
  const initSql = options.session === undefined ? {} : { initSql: options.session };
  const pool = mariadb.createPool({ ...where, connectionLimit, ...initSql, ...options.mariadb });
  return { pool, rows: async (sql) => rowsOf(await pool.query({ sql, rowsAsArray: false })), end: () => pool.end() };
}

function rowsOf(answer: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(answer) ? answer : [];
}

/** `SET timestamp` fixes what NOW and UTC_TIMESTAMP say in a session: a clock that stands until it is moved. */
export function withMovedClock(pool: MysqlPool, clock: { nowMs: number }): MysqlPool {
  return {
    async getConnection() {
      const connection = await pool.getConnection();
      return {
        async query(query, values) {
          await connection.query({ ...query, sql: `set timestamp = ${(clock.nowMs / 1_000).toFixed(6)}` }, []);
          return connection.query(query, values);
        },
        release: () => connection.release(),
        destroy: () => connection.destroy(),
      };
    },
  };
}

/** Does something before each statement that a store sends: counts it, or lets somebody else be faster. */
export function intercepted(pool: MysqlPool, before: (sql: string) => Promise<void> | void): MysqlPool {
  return {
    async getConnection() {
      const connection = await pool.getConnection();
      return {
        async query(query, values) {
          await before(query.sql);
          return connection.query(query, values);
        },
        release: () => connection.release(),
        destroy: () => connection.destroy(),
      };
    },
  };
}

/** A pool that loses the reply to the first statement that matches, and says how many it lost. */
export function losing(pool: MysqlPool, statement: RegExp) {
  let lost = 0;
  const lossy: MysqlPool = {
    async getConnection() {
      const connection = await pool.getConnection();
      return {
        async query(query, values) {
          const reply: unknown = await connection.query(query, values);
          if (lost > 0 || !statement.test(query.sql)) return reply;
          lost += 1;
          throw Object.assign(new Error("lost"), { code: "ECONNRESET", fatal: true });
        },
        release: () => connection.release(),
        destroy: () => connection.destroy(),
      };
    },
  };
  return { pool: lossy, lost: () => lost };
}

/** A pool on which the first statement that matches stands still until it may go on. */
export function standing(pool: MysqlPool, statement: RegExp) {
  const reached = Promise.withResolvers<void>();
  const goesOn = Promise.withResolvers<void>();
  let stood = false;
  return {
    pool: intercepted(pool, async (sql) => {
      if (stood || !statement.test(sql)) return;
      stood = true;
      reached.resolve();
      await goesOn.promise;
    }),
    reached: reached.promise,
    goOn: () => goesOn.resolve(),
  };
}

/** A pool whose process dies, for all that the server sees: before the first statement that matches, or after it. */
export function dying(pool: MysqlPool, statement: RegExp, when: "before" | "after" = "before"): MysqlPool {
  let died = false;
  return intercepted(pool, (sql) => {
    const isIt = statement.test(sql);
    if (died || (isIt && when === "before")) {
      throw Object.assign(new Error("died"), { errno: 1, sqlState: "HY000" });
    }
    died = isIt;
  });
}

const tables = [
  "records",
  "labels",
  "steps",
  "audit",
  "clock",
  "log_pages",
  "attempts",
  "processes",
  "twins",
  "resources",
  "log_sweep",
];

export async function emptyTables(client: Client, prefix = "ichido_"): Promise<void> {
  for (const table of tables) await client.rows(`delete from ${prefix}${table}`);
}

export async function migrated(client: Client): Promise<MysqlStore> {
  const store = mysqlStore(client.pool);
  await store.migrate();
  return store;
}

/** As if the clock had been seen to run evenly, every minute, for the last hour. */
export async function trustClock(client: Client): Promise<void> {
  const now = "timestampdiff(microsecond, '1970-01-01', utc_timestamp(6))";
  await client.rows(`replace into ichido_clock values (1, ${now}, 60000000, ${now} - 3600000000)`);
}
