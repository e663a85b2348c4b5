/**
 * The user's own pool or connection, as much of it as the store uses. `mysql2` (promise or callback interface) and
 * `mariadb` fit; neither is imported. Every statement is one call of `query` with `?` placeholders.
 */
import { insideOf, otherDatabase, type Lender, type LibraryInstance } from "../../drivers/library-pool.ts";
import type { MysqlQuery } from "../../drivers/mysql/query.ts";

export interface MysqlConnection {
  query(query: MysqlQuery, values: unknown[]): Promise<unknown>;
}

export interface MysqlPoolConnection extends MysqlConnection {
  release(): unknown;
  destroy(): unknown;
}

export interface MysqlPool {
  getConnection(): Promise<MysqlPoolConnection>;
}

/** The callback interface of `mysql2`, which knows its promise side. */
export interface MysqlCallbackClient {
  promise(): MysqlPool | MysqlConnection;
}

export type DriverClient = MysqlPool | MysqlConnection | MysqlCallbackClient;

/** A library lends connections of its own pool: TypeORM, Knex or Sequelize, on `mysql2`. */
export type MysqlClient = DriverClient | LibraryInstance;

export type Row = Readonly<Record<string, unknown>>;

export interface Result {
  readonly rows: readonly Row[];
  readonly insertId: number;
  readonly affected: number;
}

/** What the driver itself has made, behind whatever library. */
export function driverClient(given: MysqlClient): DriverClient {
  const inside = insideOf(given);
  if (inside === undefined) return given as DriverClient;
  return inside.kind === "pool" ? (inside.pool as DriverClient) : lentPool(inside.lender);
}

function lentPool(lender: Lender): MysqlPool {
  if (!/^(?:mysql|mariadb)/.test(lender.dialect)) throw otherDatabase("MySQL or MariaDB", lender);
  return {
    async getConnection() {
      const raw = await lender.lend();
      const connection = promiseSide(raw as DriverClient) as MysqlConnection;
      return {
        query: (query, values) => connection.query(query, values),
        release: () => lender.giveBack(raw, false),
        destroy: () => lender.giveBack(raw, true),
      };
    },
  };
}

export function promiseSide(client: DriverClient): MysqlPool | MysqlConnection {
  const side = "promise" in client && typeof client.promise === "function" ? client.promise() : client;
  return side as MysqlPool | MysqlConnection;
}

/** `mariadb` alone has batches of values. */
export function driverName(client: DriverClient): "mysql2" | "mariadb" {
  return typeof (client as { readonly batch?: unknown }).batch === "function" ? "mariadb" : "mysql2";
}

export function isPool(client: MysqlPool | MysqlConnection): client is MysqlPool {
  return "getConnection" in client && typeof client.getConnection === "function";
}

/** `mysql2` answers `[rows or header, fields]`, `mariadb` the rows or header alone; a row is never an array here. */
export function resultOf(answer: unknown): Result {
  const pair = Array.isArray(answer) && answer.length === 2 && (Array.isArray(answer[1]) || answer[1] === undefined);
  const main: unknown = pair ? answer[0] : answer;
  if (Array.isArray(main)) return { rows: main as readonly Row[], insertId: 0, affected: 0 };
  const header = (main ?? {}) as { readonly insertId?: unknown; readonly affectedRows?: unknown };
  return { rows: [], insertId: integerOf(header.insertId ?? 0), affected: integerOf(header.affectedRows ?? 0) };
}

/** Integers arrive as number, bigint or text, by options of the driver; all of ours are safe JavaScript numbers. */
export function integerOf(value: unknown): number {
  const number = typeof value === "number" ? value : Number(value);
  if (!Number.isSafeInteger(number)) throw new TypeError(`expected an integer from the server, got ${typeof value}`);
  return number;
}
