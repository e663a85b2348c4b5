/**
 * Runs statements on the user's pool or connection: bounded in time, sent again when the server undid them or when the
 * connection broke under them. The latter is safe because every statement of this store, sent twice, leaves what it
 * leaves when it is sent once, and its sender can see in the record that it was there before.
 */
import { sleep, withDeadline } from "../../core/contract/deadline.ts";
import { fraction, systemEnvironment } from "../../core/contract/environment.ts";
import { isIchidoError } from "../../core/contract/errors.ts";
import { queryOf } from "../../drivers/mysql/query.ts";
import {
  isPool,
  promiseSide,
  resultOf,
  type DriverClient,
  type MysqlConnection,
  type MysqlPool,
  type MysqlPoolConnection,
  type Result,
} from "./client.ts";
import type { Value } from "./dialect.ts";
import { failureOf, isBroken, isLocked, isLost, isRolledBack } from "./failures.ts";

/** A statement that was rolled back by a deadlock or a lock timeout is sent this often in all. */
const attemptsMax = 5;
/** A statement whose connection broke is sent this often in all: a pool may hold more than one dead connection. */
const connectionsMax = 3;
const pauseMsMax = 20;

/** What is left of the time, at least one millisecond: a call that is late fails by a deadline that passes at once. */
export function countdown(limitMs: number): () => number {
  const untilMs = systemEnvironment.monotonicMs() + limitMs;
  return () => Math.max(1, Math.ceil(untilMs - systemEnvironment.monotonicMs()));
}

export type Run = (sql: string, values: readonly Value[], timeoutMs?: number) => Promise<Result>;

export interface Session {
  run: Run;
  /** Sent once, with the driver's own error: for what may be asked otherwise after a failure. */
  runOnce: Run;
  /** For the look at the server itself, which needs no such look before it. */
  probe: Run;
  /** As `run` and `probe`, but never waiting behind the program's own transactions. A lock is told by the driver's error. */
  readonly renewals: Pick<Session, "run" | "probe">;
  /** Several statements on one connection. On a bare connection they run on that one. */
  onOneConnection<T>(work: (run: Run) => Promise<T>, whenLost?: "again when lost"): Promise<T>;
}

export interface SessionParts {
  readonly timeoutMs: number;
  /** Behind a new connection there may be another server: the store asks it before it sends anything again. */
  readonly beforeResend: (probe: Run) => Promise<void>;
  /** Gives a statement to a connection, once. */
  readonly renewOnce: SendOnce;
}

export type SendOnce = (sql: string, values: readonly Value[], limitMs: number) => Promise<Result>;

export async function sendOn(
  connection: MysqlConnection,
  sql: string,
  values: readonly Value[],
  limitMs: number,
): Promise<Result> {
  return resultOf(await withDeadline(systemEnvironment, limitMs, () => connection.query(queryOf(sql), [...values])));
}

export function sendBy(client: MysqlPool | MysqlConnection): SendOnce {
  return (sql, values, limitMs) =>
    isPool(client)
      ? withPooled(client, limitMs, (connection, leftMs) => sendOn(connection, sql, values, leftMs))
      : sendOn(client, sql, values, limitMs);
}

export function createSession(given: DriverClient, parts: SessionParts): Session {
  const client = promiseSide(given);

  const once = sendBy(client);

  /** Without `beforeResend` nothing is sent again on another connection. */
  async function persist(
    attempt: () => Promise<Result>,
    beforeResend?: () => Promise<void>,
    tellsLocks = false,
  ): Promise<Result> {
    let rolledBack = 0;
    let lost = 0;
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        if (tellsLocks && isLocked(error)) throw error;
        if (isRolledBack(error)) rolledBack += 1;
        else if (beforeResend !== undefined && isLost(error)) lost += 1;
        else throw failureOf(error);
        if (rolledBack >= attemptsMax || lost >= connectionsMax) throw failureOf(error);
      }
      await sleep(systemEnvironment, fraction(systemEnvironment) * pauseMsMax);
      if (lost === 0) continue;
      await beforeResend?.().catch((error: unknown) => {
        throw failureOf(error);
      });
    }
  }

  /** The limit is that of all its repetitions together. */
  function sending(by: SendOnce, beforeResend: () => Promise<void>, tellsLocks: boolean): Run {
    return (sql, values, limitMs = parts.timeoutMs) => {
      const left = countdown(limitMs);
      return persist(
        () => by(sql, values, left()),
        () => withDeadline(systemEnvironment, left(), beforeResend),
        tellsLocks,
      );
    };
  }

  function way(by: SendOnce, tellsLocks: boolean): Pick<Session, "run" | "probe"> {
    const probe = sending(by, async () => undefined, tellsLocks);
    return { run: sending(by, () => parts.beforeResend(probe), tellsLocks), probe };
  }

  const usual = way(once, false);
  return {
    ...usual,
    runOnce: (sql, values, limitMs = parts.timeoutMs) => once(sql, values, limitMs),
    renewals: way(parts.renewOnce, true),
    async onOneConnection(work, whenLost) {
      const on =
        (connection: MysqlConnection): Run =>
        (sql, values, limitMs = parts.timeoutMs) =>
          persist(() => sendOn(connection, sql, values, limitMs));
      if (!isPool(client)) return work(on(client));
      for (let tries = 1; ; tries += 1) {
        try {
          return await withPooled(client, parts.timeoutMs, (connection) => work(on(connection)));
        } catch (error) {
          const lost = isLost(error) || (isIchidoError(error) && isLost(error.cause));
          if (whenLost === undefined || !lost || tries >= connectionsMax) throw failureOf(error);
          await parts.beforeResend(usual.probe);
        }
      }
    },
  };
}

/**
 * A connection whose statement outlived its deadline may still bring the answer: it is destroyed, never returned to the
 * pool. One that the pool gave too late goes straight back.
 */
async function withPooled<T>(
  pool: MysqlPool,
  limitMs: number,
  work: (connection: MysqlPoolConnection, leftMs: number) => Promise<T>,
): Promise<T> {
  const left = countdown(limitMs);
  const connection = await withDeadline(systemEnvironment, limitMs, () => pool.getConnection(), giveBack);
  return withLent(connection, (lent) => work(lent, left()));
}

export async function withLent<T>(
  connection: MysqlPoolConnection,
  work: (connection: MysqlPoolConnection) => Promise<T>,
): Promise<T> {
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

export function giveBack(connection: MysqlPoolConnection): void {
  const released = connection.release();
  if (released instanceof Promise) released.catch(() => undefined);
}
