/** Runs statements on the user's pool or connection: bounded in time, repeated when the server undid them. */
import { withDeadline } from "../../core/deadline.ts";
import { fraction, systemEnvironment } from "../../core/environment.ts";
import { sleep } from "../../core/deadline.ts";
import { isPool, promiseSide, queryOf, resultOf } from "./client.ts";
import type { MysqlClient, MysqlConnection, MysqlPool, MysqlPoolConnection, Result } from "./client.ts";
import type { Value } from "./dialect.ts";
import { failureOf, isBroken, isRolledBack } from "./failures.ts";

/** A statement that was rolled back by a deadlock or a lock timeout is sent this often in all. */
const attemptsMax = 5;
const pauseMsMax = 20;

export type Run = (sql: string, values: readonly Value[], timeoutMs?: number) => Promise<Result>;

export interface Session {
  run: Run;
  /** Several statements on one connection. On a bare connection they run on that one. */
  onOneConnection<T>(work: (run: Run) => Promise<T>): Promise<T>;
}

export function createSession(given: MysqlClient, timeoutMs: number): Session {
  const client = promiseSide(given);

  /**
   * A connection whose statement outlived its deadline may still bring the answer: it is destroyed, never returned to
   * the pool. One that comes too late goes straight back.
   */
  async function withPooled<T>(
    pool: MysqlPool,
    limitMs: number,
    work: (c: MysqlPoolConnection) => Promise<T>,
  ): Promise<T> {
    const connection = await withDeadline(systemEnvironment, limitMs, () => pool.getConnection(), giveBack);
    let answer: T;
    try {
      answer = await work(connection);
    } catch (error) {
      if (isBroken(error)) connection.destroy();
      else giveBack(connection);
      throw error;
    }
    giveBack(connection);
    return answer;
  }

  async function send(
    connection: MysqlConnection,
    sql: string,
    values: readonly Value[],
    limitMs: number,
  ): Promise<Result> {
    return resultOf(await withDeadline(systemEnvironment, limitMs, () => connection.query(queryOf(sql), [...values])));
  }

  async function persist(attempt: () => Promise<Result>): Promise<Result> {
    for (let count = 1; ; count += 1) {
      try {
        return await attempt();
      } catch (error) {
        if (!isRolledBack(error) || count >= attemptsMax) throw failureOf(error);
        await sleep(systemEnvironment, fraction(systemEnvironment) * pauseMsMax);
      }
    }
  }

  return {
    run: (sql, values, limitMs = timeoutMs) =>
      persist(() =>
        isPool(client)
          ? withPooled(client, limitMs, (connection) => send(connection, sql, values, limitMs))
          : send(client, sql, values, limitMs),
      ),
    onOneConnection: async (work) => {
      const on =
        (connection: MysqlConnection): Run =>
        (sql, values, limitMs = timeoutMs) =>
          persist(() => send(connection, sql, values, limitMs));
      if (!isPool(client)) return work(on(client));
      try {
        return await withPooled(client, timeoutMs, (connection) => work(on(connection)));
      } catch (error) {
        throw failureOf(error);
      }
    },
  };
}

function giveBack(connection: MysqlPoolConnection): void {
  const released = connection.release();
  if (released instanceof Promise) released.catch(() => undefined);
}
