/**
 * Transactions on one SQLite connection, one after the other. Most of what a short one costs is the wait for the disk at
 * its commit, so those that wait in line share commits: the next one runs behind a savepoint of the same transaction, and
 * each is told of its end only after the commit that holds them all. One that fails is undone alone. Whoever finds nobody
 * waiting commits at once.
 *
 * The price is that a short one may wait for one slow one behind it, as it would have in front of it. After a slow one, and
 * after a commit that failed, everybody commits alone for a while.
 */
import { tellFree } from "../core/lent.ts";
import { CommitFailed } from "../core/transaction.ts";

export interface LineConnection {
  say(word: string): void;
  readonly isInside: boolean;
  /** What others know the connection by. */
  readonly database: object;
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

interface Shared {
  /** Those that ended well and wait for the commit. */
  size: number;
  readonly openedMs: number;
  readonly commit: PromiseWithResolvers<void>;
}

/** Primary result codes 5 and 6; better-sqlite3 gives (extended) names instead of numbers. */
function isBusy(error: unknown): boolean {
  const { errcode, code } = Object(error) as { readonly errcode?: unknown; readonly code?: unknown };
  if (typeof errcode === "number") return (errcode & 0xff) === 5 || (errcode & 0xff) === 6;
  return typeof code === "string" && /^SQLITE_(BUSY|LOCKED)/.test(code);
}

export class SqliteLine {
  readonly #connection: LineConnection;
  readonly #waiting: (() => void)[] = [];
  #taken = false;
  #heldFromMs = 0;
  #open: Shared | undefined;
  #aloneUntilMs = 0;

  constructor(connection: LineConnection) {
    this.#connection = connection;
  }

  /** Commits when `fn` resolves, undoes it when it rejects. `busyMs`: how long another connection's write is waited for. */
  async run<Value>(busyMs: number, fn: () => Promise<Value>): Promise<Value> {
    if (!this.#taken) {
      this.#taken = true;
      this.#heldFromMs = performance.now();
    } else if (this.#waiting.length < queueMax) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      throw new Error(`more than ${queueMax} transactions wait for this connection`);
    }
    let shared: Shared;
    let value: Value;
    try {
      shared = this.#open === undefined ? await this.#begin(busyMs) : this.#join(this.#open);
      value = await this.#runIn(shared, fn);
    } finally {
      this.#giveWay();
    }
    await shared.commit.promise;
    return value;
  }

  #giveWay(): void {
    if (this.#open === undefined) tellFree(this.#connection.database);
    const next = this.#waiting.shift();
    if (next === undefined) this.#taken = false;
    else next();
  }

  /** From the event loop, so that heartbeats go on whatever busy timeout the connection has. */
  async #begin(busyMs: number): Promise<Shared> {
    if (performance.now() - this.#heldFromMs > heldMsMax) {
      await new Promise((resolve) => setImmediate(resolve));
      this.#heldFromMs = performance.now();
    }
    const untilMs = performance.now() + busyMs;
    for (;;) {
      try {
        this.#connection.say("BEGIN IMMEDIATE");
        break;
      } catch (error) {
        if (!isBusy(error) || performance.now() >= untilMs) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
    const shared: Shared = { size: 0, openedMs: performance.now(), commit: Promise.withResolvers() };
    // Nobody may be left to hear of it.
    shared.commit.promise.catch(() => undefined);
    this.#open = shared;
    return shared;
  }

  #join(shared: Shared): Shared {
    this.#connection.say("SAVEPOINT ichido_member");
    return shared;
  }

  async #runIn<Value>(shared: Shared, fn: () => Promise<Value>): Promise<Value> {
    const startedMs = performance.now();
    let value: Value;
    try {
      value = await fn();
    } catch (error) {
      this.#undo(shared);
      throw error;
    } finally {
      if (performance.now() - startedMs > slowMs) this.#aloneUntilMs = performance.now() + aloneMs;
    }
    this.#keep(shared);
    return value;
  }

  #keep(shared: Shared): void {
    try {
      if (shared.size > 0) this.#connection.say("RELEASE ichido_member");
    } catch (error) {
      return this.#fail(shared, error);
    }
    shared.size += 1;
    this.#commitUnlessAwaited(shared);
  }

  #undo(shared: Shared): void {
    try {
      if (shared.size === 0) {
        this.#open = undefined;
        this.#connection.say("ROLLBACK");
        return;
      }
      this.#connection.say("ROLLBACK TO ichido_member");
      this.#connection.say("RELEASE ichido_member");
    } catch (error) {
      // Some errors of SQLite undo the whole transaction, and so may the function itself.
      return this.#fail(shared, error);
    }
    this.#commitUnlessAwaited(shared);
  }

  #commitUnlessAwaited(shared: Shared): void {
    const nowMs = performance.now();
    const isAwaited =
      this.#waiting.length > 0 &&
      shared.size < sharedMax &&
      nowMs - shared.openedMs < sharedMsMax &&
      nowMs >= this.#aloneUntilMs;
    if (isAwaited && this.#connection.isInside) return;
    this.#open = undefined;
    try {
      this.#connection.say("COMMIT");
      shared.commit.resolve();
    } catch (error) {
      this.#fail(shared, error);
    }
  }

  /** What was not committed before is undone, for all of them. */
  #fail(shared: Shared, cause: unknown): void {
    this.#open = undefined;
    if (shared.size > 1) this.#aloneUntilMs = performance.now() + aloneMs;
    try {
      // A commit that failed may leave the transaction open, and the next one must not begin inside it.
      if (this.#connection.isInside) this.#connection.say("ROLLBACK");
    } catch {
      // What came first says more.
    }
    shared.commit.reject(new CommitFailed("the commit was sent and its answer is an error or was lost", { cause }));
  }
}
