/**
 * One connection, many callers. Calls that write are collected while the process handles other events and run together
 * in one transaction at the end of an iteration of the event loop: with `synchronous=FULL` every commit waits for the
 * disk, and one wait then serves them all. A single call waits only for the end of its iteration.
 *
 * Each call is decided by itself inside the shared transaction, and answered only after the commit. When one fails, the
 * transaction is rolled back and each runs alone, so that only the bad one fails. While another process holds the write
 * lock, the transaction is tried again from the event loop, so that timers (heartbeats among them) go on.
 */
import { systemEnvironment } from "../../core/contract/environment.ts";
import { IchidoError } from "../../core/contract/errors.ts";
import { doubledMs, upperHalfOf } from "../../core/contract/jitter.ts";
import type { Connection } from "./database.ts";
import { createRelaxedSync, withShortWait } from "./durability.ts";
import { isBusy } from "../../drivers/sqlite-errors.ts";
import { failureOf, isOfOneCall, lockedFor } from "./failures.ts";
import { onIdle } from "../../core/contract/connection-idle.ts";

const callsPerTransaction = 128;
const bytesPerTransaction = 4 * 1_048_576;
const retryMsFirst = 5;
const retryMsMax = 100;
/** While the user's own transaction is open: looking again soon blocks nothing, and disturbs no other process. */
const retryMsOwn = 4;

// Taken once: a test that replaces the global timers must not stop the store it shares a process with.
const { setImmediate, setTimeout, clearTimeout } = globalThis;
const monotonicMs = performance.now.bind(performance);

interface Call {
  run(): unknown;
  resolve(value: unknown): void;
  reject(error: unknown): void;
  /** Its time is up and the file is still locked. */
  locked(failure: IchidoError): void;
  readonly bytes: number;
  readonly mayBeLost: boolean;
  readonly deadlineMs: number;
}

export interface Writing {
  /** The size of what it carries. */
  readonly bytes?: number | undefined;
  /** Answered once other processes see it, without waiting for the disk. */
  readonly mayBeLost?: boolean | undefined;
}

export interface WriteQueue {
  /** A read of one consistent state, without the write lock: at once where that is possible. */
  read<T>(run: () => T): Promise<T>;
  /** Inside a transaction that holds the write lock. */
  write<T>(run: () => T, writing?: Writing): Promise<T>;
  /** The same for what can be left for another day: when the lock is not had within `waitMs`, the answer is `busy`. */
  tryWrite<T>(run: () => T, waitMs: number): Promise<T | "busy">;
}

export interface WriteQueueParts {
  readonly connection: Connection;
  readonly lockTimeoutMs: number;
  readonly queueMax: number;
  readonly isReady: () => boolean;
  /** Makes the connection ready, or throws. Asked before each transaction until it is. */
  readonly prepare: () => void;
  /** After a statement failed: a better reason, if there is one. */
  readonly explain: (error: unknown) => unknown;
}

export function createWriteQueue(parts: WriteQueueParts): WriteQueue {
  const { connection, lockTimeoutMs } = parts;
  let reads: Call[] = [];
  let writes: Call[] = [];
  let due = false;
  let retries = 0;
  /** Ends the wait for a moment in which to try again. */
  let stopWaiting: (() => void) | undefined;
  const relaxedSync = createRelaxedSync(connection);

  function enqueue<T>(queue: Call[], run: () => T, writing: Writing = {}, waitMs?: number): Promise<T> {
    if (reads.length + writes.length >= parts.queueMax) {
      const message = `${parts.queueMax} calls already wait for the SQLite file ${connection.file}; slow down or raise queueMax`;
      return Promise.reject(new IchidoError("store-unavailable", message));
    }
    return new Promise<T>((resolve, reject) => {
      queue.push({
        run,
        resolve: resolve as (value: unknown) => void,
        reject,
        locked: waitMs === undefined ? reject : () => resolve("busy" as T),
        bytes: writing.bytes ?? 0,
        mayBeLost: writing.mayBeLost === true,
        deadlineMs: monotonicMs() + (waitMs ?? lockTimeoutMs),
      });
      schedule();
    });
  }

  function schedule(): void {
    if (due) return;
    due = true;
    setImmediate(serve);
  }

  function serve(): void {
    stopWaiting?.();
    stopWaiting = undefined;
    due = false;
    try {
      // The user's own transaction is open on this handle: a statement of ours would join it and roll back with it.
      if (connection.inTransaction)
        throw new OwnTransactionOpen("a transaction that is not the store's is open on its handle");
      if (!parts.isReady()) withShortWait(connection, parts.prepare);
      serveReads();
      if (writes.length > 0) serveWrites(takeBatch());
      retries = 0;
    } catch (error) {
      if (error instanceof OwnTransactionOpen || isBusy(error)) return retryLater(error);
      refuse([...reads.splice(0), ...writes.splice(0)], error);
    }
    if (reads.length + writes.length > 0) schedule();
  }

  function serveReads(): void {
    for (let call = reads.shift(); call !== undefined; call = reads.shift()) {
      try {
        call.resolve(call.run());
      } catch (error) {
        if (isBusy(error)) {
          reads.unshift(call);
          throw error;
        }
        refuse([call], error);
      }
    }
  }

  function takeBatch(): Call[] {
    let bytes = 0;
    let count = 0;
    while (count < writes.length && count < callsPerTransaction && (count === 0 || bytes < bytesPerTransaction)) {
      bytes += writes[count]?.bytes ?? 0;
      count += 1;
    }
    return writes.splice(0, count);
  }

  function serveWrites(batch: readonly Call[]): void {
    const isRelaxed = batch.every((call) => call.mayBeLost);
    try {
      if (isRelaxed) relaxedSync.begin();
      else relaxedSync.end();
    } catch (error) {
      if (!isBusy(error)) return refuse(batch, error);
      writes.unshift(...batch);
      throw error;
    }
    try {
      serveTogether(batch);
    } finally {
      if (isRelaxed) endRelaxedSync();
    }
  }

  /** Also for the user's own transactions on this handle; where it cannot be done now, it is tried again soon. */
  function endRelaxedSync(): void {
    try {
      if (connection.inTransaction) setTimeout(endRelaxedSync, retryMsOwn).unref();
      else relaxedSync.end();
    } catch {
      setTimeout(endRelaxedSync, retryMsMax).unref();
    }
  }

  function serveTogether(batch: readonly Call[]): void {
    try {
      withShortWait(connection, () => connection.run("BEGIN IMMEDIATE"));
    } catch (error) {
      if (!isBusy(error)) return refuse(batch, error);
      writes.unshift(...batch);
      throw error;
    }
    let values: unknown[];
    try {
      values = batch.map((call) => call.run());
      connection.run("COMMIT");
    } catch (error) {
      rollBack();
      if (isBusy(error)) {
        writes.unshift(...batch);
        throw error;
      }
      if (batch.length === 1 || !isOfOneCall(error)) return refuse(batch, error);
      return runOneByOne(batch);
    }
    batch.forEach((call, index) => call.resolve(values[index]));
  }

  function rollBack(): void {
    try {
      if (connection.inTransaction) connection.run("ROLLBACK");
    } catch {
      // The handle is gone, and the transaction with it: what the calls met first says more.
    }
  }

  function runOneByOne(batch: readonly Call[]): void {
    for (let index = 0; index < batch.length; index += 1) {
      try {
        serveWrites(batch.slice(index, index + 1));
      } catch (error) {
        writes.splice(1, 0, ...batch.slice(index + 1));
        throw error;
      }
    }
  }

  function readAtOnce<T>(run: () => T): Promise<T> {
    try {
      if (!parts.isReady() || connection.inTransaction) return enqueue(reads, run);
      return Promise.resolve(run());
    } catch (error) {
      if (isBusy(error)) return enqueue(reads, run);
      return Promise.reject(failureOf(parts.explain(error), connection.file));
    }
  }

  function refuse(calls: readonly Call[], error: unknown): void {
    const failure = failureOf(parts.explain(error), connection.file);
    for (const call of calls) call.reject(failure);
  }

  /**
   * The file is locked: calls whose time is up fail, the others are tried again a little later, after a random pause,
   * so that processes do not try all at once.
   */
  function retryLater(cause: unknown): void {
    const nowMs = monotonicMs();
    const failure = lockedFor(lockTimeoutMs, connection.file, cause);
    for (const call of [...reads, ...writes]) if (call.deadlineMs <= nowMs) call.locked(failure);
    reads = reads.filter((call) => call.deadlineMs > nowMs);
    writes = writes.filter((call) => call.deadlineMs > nowMs);
    if (reads.length + writes.length === 0) {
      retries = 0;
      return;
    }
    retries += 1;
    due = true;
    const mostMs = cause instanceof OwnTransactionOpen ? retryMsOwn : doubledMs(retryMsFirst, retries, retryMsMax);
    const timer = setTimeout(serve, upperHalfOf(systemEnvironment, mostMs));
    // Runners of transactions say when they are between two transactions; a pause of any other code is found only by
    // luck.
    const forget = cause instanceof OwnTransactionOpen ? onIdle(connection.database, serve) : undefined;
    stopWaiting = () => {
      clearTimeout(timer);
      forget?.();
    };
  }

  return {
    read: readAtOnce,
    write: (run, writing) => enqueue(writes, run, writing),
    tryWrite: <T>(run: () => T, waitMs: number) =>
      enqueue<T | "busy">(writes, run, {}, Math.min(waitMs, lockTimeoutMs)),
  };
}

class OwnTransactionOpen extends Error {}
