/**
 * Transactions on one SQLite connection, one after the other. A short one mostly waits for the disk at its commit, so
 * those that may share a commit do: one that waits in line runs behind a savepoint of the same transaction. Each caller
 * learns the end of its transaction only after the commit that holds them all. A transaction that fails is undone
 * alone; its caller, too, learns it after that commit, since it may have failed because of what the others wrote. A
 * transaction that finds no other one waiting commits at once. After a slow one, and after a commit that failed, each
 * commits alone for a while.
 */
import { notifyIdle } from "../core/contract/connection-idle.ts";
import { IchidoError } from "../core/contract/errors.ts";
import { CommitFailed } from "../core/contract/transaction.ts";
import { isBusy } from "../drivers/sqlite-errors.ts";

export interface QueuedConnection {
  exec(word: string): void;
  readonly isInside: boolean;
  /** What others know the connection by. */
  readonly database: object;
  /** Monotonic. */
  nowMs(): number;
}

export interface Turn {
  /** How long another connection's write is waited for. */
  readonly lockTimeoutMs: number;
  /** How long those are waited for that came before on this connection. */
  readonly waitMs: number;
  /** It may share its commit with others that may. */
  readonly shares: boolean;
}

/** Longest queue of transactions that wait for the one connection. */
const queueMax = 10_000;
const retryMs = 5;
/** Transactions back to back stop now and then for whatever else the event loop has to do. */
const heldMsMax = 10;
const sharedMax = 32;
const sharedMsMax = 4;
const slowMs = 5;
const aloneMs = 1_000;

const failed = "the commit was sent and its answer is an error or was lost";

interface Shared {
  /** How many have run in it. */
  size: number;
  readonly shares: boolean;
  readonly openedMs: number;
  readonly commit: PromiseWithResolvers<void>;
}

export class CommitQueue {
  readonly #connection: QueuedConnection;
  readonly #waiting: { readonly shares: boolean; resume(): void }[] = [];
  #taken = false;
  #heldFromMs = 0;
  #open: Shared | undefined;
  #aloneUntilMs = 0;
  /** A transaction of ours could not even be undone: a statement of its function is still under way. */
  #rollbackPending = false;

  constructor(connection: QueuedConnection) {
    this.#connection = connection;
  }

  /** Commits when `fn` resolves, undoes it when it rejects. */
  async run<Value>({ lockTimeoutMs, waitMs, shares }: Turn, fn: () => Promise<Value>): Promise<Value> {
    if (!this.#taken) {
      this.#taken = true;
      this.#heldFromMs = this.#connection.nowMs();
    } else if (this.#waiting.length < queueMax) {
      await this.#wait(waitMs, shares);
    } else {
      throw new IchidoError("store-unavailable", `more than ${queueMax} transactions wait for this connection`);
    }
    let shared: Shared;
    let end: { readonly value: Value } | { readonly error: unknown; readonly isFirst: boolean };
    try {
      shared = this.#join() ?? (await this.#begin(lockTimeoutMs, shares));
      end = await this.#runIn(shared, fn);
    } finally {
      this.#release();
    }
    if ("value" in end) {
      await shared.commit.promise;
      return end.value;
    }
    if (!end.isFirst) await shared.commit.promise;
    throw end.error;
  }

  /**
   * A transaction that runs too long keeps the connection, which cannot be taken away from it; but its followers stop
   * waiting.
   */
  #wait(waitMs: number, shares: boolean): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const place = {
        shares,
        resume() {
          clearTimeout(timer);
          resolve();
        },
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(place), 1);
        reject(new IchidoError("store-unavailable", `another transaction had the connection for ${waitMs} ms`));
      }, waitMs);
      this.#waiting.push(place);
    });
  }

  #release(): void {
    if (this.#open === undefined) notifyIdle(this.#connection.database);
    const next = this.#waiting.shift();
    if (next === undefined) this.#taken = false;
    else next.resume();
  }

  /** From the event loop, so that heartbeats go on whatever busy timeout the connection has. */
  async #begin(lockTimeoutMs: number, shares: boolean): Promise<Shared> {
    if (this.#connection.nowMs() - this.#heldFromMs > heldMsMax) {
      await new Promise((resolve) => setImmediate(resolve));
      this.#heldFromMs = this.#connection.nowMs();
    }
    if (this.#rollbackPending && this.#connection.isInside) this.#connection.exec("ROLLBACK");
    this.#rollbackPending = false;
    const untilMs = this.#connection.nowMs() + lockTimeoutMs;
    for (;;) {
      try {
        this.#connection.exec("BEGIN IMMEDIATE");
        break;
      } catch (error) {
        if (!isBusy(error) || this.#connection.nowMs() >= untilMs) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
    const openedMs = this.#connection.nowMs();
    const shared: Shared = { size: 0, shares, openedMs, commit: Promise.withResolvers() };
    // Perhaps no caller waits for it.
    shared.commit.promise.catch(() => undefined);
    this.#open = shared;
    return shared;
  }

  #join(): Shared | undefined {
    const shared = this.#open;
    if (shared === undefined) return undefined;
    try {
      this.#connection.exec("SAVEPOINT ichido_member");
      return shared;
    } catch {
      // A statement of an earlier transaction is still under way.
      this.#commit(shared);
      return undefined;
    }
  }

  async #runIn<Value>(
    shared: Shared,
    fn: () => Promise<Value>,
  ): Promise<{ readonly value: Value } | { readonly error: unknown; readonly isFirst: boolean }> {
    const startedMs = this.#connection.nowMs();
    const isFirst = shared.size === 0;
    shared.size += 1;
    let end: { readonly value: Value } | { readonly error: unknown; readonly isFirst: boolean };
    try {
      end = { value: await fn() };
    } catch (error) {
      end = { error, isFirst };
    }
    if (this.#connection.nowMs() - startedMs > slowMs) this.#aloneUntilMs = this.#connection.nowMs() + aloneMs;
    if ("value" in end) this.#keep(shared, isFirst);
    else this.#undo(shared, isFirst);
    return end;
  }

  #keep(shared: Shared, isFirst: boolean): void {
    try {
      if (!isFirst) this.#connection.exec("RELEASE ichido_member");
    } catch (error) {
      return this.#fail(shared, error);
    }
    this.#commitUnlessAwaited(shared);
  }

  #undo(shared: Shared, isFirst: boolean): void {
    try {
      if (isFirst) {
        this.#open = undefined;
        this.#connection.exec("ROLLBACK");
        return;
      }
      this.#connection.exec("ROLLBACK TO ichido_member");
      this.#connection.exec("RELEASE ichido_member");
    } catch (error) {
      // Some errors of SQLite undo the whole transaction, and so may the function itself.
      return this.#fail(shared, error);
    }
    this.#commitUnlessAwaited(shared);
  }

  #commitUnlessAwaited(shared: Shared): void {
    const nowMs = this.#connection.nowMs();
    const isAwaited =
      shared.shares &&
      this.#waiting[0]?.shares === true &&
      shared.size < sharedMax &&
      nowMs - shared.openedMs < sharedMsMax &&
      nowMs >= this.#aloneUntilMs;
    if (!isAwaited || !this.#connection.isInside) this.#commit(shared);
  }

  #commit(shared: Shared): void {
    this.#open = undefined;
    try {
      this.#connection.exec("COMMIT");
      shared.commit.resolve();
    } catch (error) {
      this.#fail(shared, error);
    }
  }

  /** What was not committed before is undone, for all of them. */
  #fail(shared: Shared, cause: unknown): void {
    this.#open = undefined;
    const isShared = shared.size > 1;
    if (isShared) this.#aloneUntilMs = this.#connection.nowMs() + aloneMs;
    try {
      // A commit that failed may leave the transaction open, and the next one must not begin inside it.
      if (this.#connection.isInside) this.#connection.exec("ROLLBACK");
    } catch {
      this.#rollbackPending = true;
    }
    shared.commit.reject(new CommitFailed(failed, { cause, shared: isShared }));
  }
}
