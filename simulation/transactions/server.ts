/**
 * The far end of the way to the database: connections with their transactions and what those have locked, and the store's
 * verbs by themselves. A connection that is gone takes its transaction with it, as soon as the database sees that it is.
 */
import type { TransactionResult } from "../../packages/ichido/src/core/contract/transaction.ts";
import { statementsFor } from "../../packages/ichido/src/stores/sqlite/statements.ts";
import { prefixDefault } from "../../packages/ichido/src/sql/table-prefix.ts";
import type { Machine } from "../machine.ts";
import { bodyOf, commit, emptyDatabase, rollBack, runWithin, write, type Log } from "./database.ts";
import type { Judge } from "./judge.ts";
import { createLocks, fileLock, locked, lockOf } from "./locks.ts";
import { createVerbs } from "./store-verbs.ts";
import type { TransactionsWorld } from "./world.ts";

const statements = statementsFor(prefixDefault);

export interface Statement {
  readonly verb: "execute";
  readonly sql: string;
  readonly values: readonly unknown[];
  /** A row of the business that is locked by it. */
  readonly locks?: string;
}

export type Message = { readonly verb: "begin" | "commit" | "rollback" } | Statement;

/** `undone`: COMMIT was answered by ROLLBACK. */
export type Answer = { readonly result: TransactionResult; readonly undone?: boolean } | { readonly error: Error };

interface OpenTransaction {
  readonly log: Log;
  readonly keys: Set<string>;
  body: string | undefined;
  isAborted: boolean;
}

export interface Connection {
  readonly machine: Machine;
  isOver: boolean;
  transaction: OpenTransaction | undefined;
  /** One message after the other. */
  readonly queue: { readonly message: Message; readonly answer: (answer: Answer) => void }[];
  isBusy: boolean;
  heardMs: number;
}

export interface DatabaseServer {
  connect(machine: Machine): Connection;
  handle(connection: Connection, message: Message, answer: (answer: Answer) => void): void;
  /** A verb of the store, outside the caller's transactions. */
  serve(verb: string, args: readonly unknown[]): Promise<unknown>;
  close(connection: Connection): void;
  closeAll(of: (connection: Connection) => boolean): void;
  /** Somebody takes a lock and keeps it. */
  lock(name: string): void;
  readonly openTransactions: number;
}

const nothing: TransactionResult = { rows: [], affected: 0 };

/** As PostgreSQL says it. */
function inFailedTransaction(): Error {
  return Object.assign(new Error("current transaction is aborted"), { severity: "ERROR", code: "25P02" });
}

/** The key whose record a statement of the store writes first. */
function keyWritten(sql: string, values: readonly unknown[]): string | undefined {
  if (sql === statements.claim) return String(values[0]);
  return sql === statements.complete ? String(values.at(-4)) : undefined;
}

export function createDatabaseServer(world: TransactionsWorld, judge: Judge): DatabaseServer {
  emptyDatabase();
  const { plan, scheduler } = world;
  const locks = createLocks(world);
  const connections = new Set<Connection>();

  function end(from: Connection): void {
    const { transaction } = from;
    if (transaction === undefined) return;
    rollBack(transaction.log);
    from.transaction = undefined;
    locks.free(from);
  }

  function close(from: Connection): void {
    if (from.isOver) return;
    from.isOver = true;
    connections.delete(from);
    from.queue.length = 0;
    end(from);
    locks.free(from);
  }

  /** As PostgreSQL's `idle_in_transaction_session_timeout`. */
  function watchIdle(from: Connection): void {
    if (plan.locks === "file") return;
    const heardMs = world.nowMs;
    from.heardMs = heardMs;
    scheduler.after(plan.executionMs, () => {
      if (from.transaction !== undefined && from.heardMs === heardMs && !from.isBusy) close(from);
    });
  }

  function begin(from: Connection, answer: (answer: Answer) => void): void {
    const open = (): void => {
      from.transaction = { log: [], keys: new Set(), body: undefined, isAborted: false };
      answer({ result: nothing });
    };
    if (from.transaction !== undefined || plan.locks === "rows") return open();
    locks.take(fileLock, from, plan.lockMs, open, () => answer({ error: locked() }));
  }

  function commitOf(from: Connection): Answer {
    const { transaction } = from;
    if (transaction === undefined) return { result: nothing };
    if (transaction.isAborted) {
      if (transaction.body !== undefined) world.undone.add(transaction.body);
      end(from);
      return { result: nothing, undone: true };
    }
    try {
      commit(transaction.log);
    } catch (error) {
      end(from);
      return { error: error as Error };
    }
    from.transaction = undefined;
    world.counts.commits += 1;
    world.note(`${from.machine.name} has committed ${[...transaction.keys].join(" ")} ${transaction.body ?? ""}`);
    // Before anybody else can have what it held.
    for (const key of transaction.keys) judge.written(key, "commit");
    locks.free(from);
    return { result: nothing };
  }

  function run(from: Connection, { sql, values }: Statement): Answer {
    const { transaction } = from;
    try {
      // Outside a transaction it commits by itself.
      if (transaction === undefined) return { result: write(() => runWithin([], sql, values)) };
      return { result: runWithin(transaction.log, sql, values) };
    } catch (error) {
      if (plan.aborts && transaction !== undefined) transaction.isAborted = true;
      return { error: error as Error };
    }
  }

  function execute(from: Connection, statement: Statement, answer: (answer: Answer) => void): void {
    const { transaction } = from;
    const { sql, values } = statement;
    const body = bodyOf(sql, values);
    if (body !== undefined) judge.heard(body, transaction);
    if (transaction?.isAborted === true) return answer({ error: inFailedTransaction() });
    const key = keyWritten(sql, values);
    if (key !== undefined) transaction?.keys.add(key);
    const name = statement.locks ?? (key === undefined ? undefined : lockOf(plan, key));
    if (name === undefined || transaction === undefined) return answer(run(from, statement));
    const forMs = statement.locks === undefined ? plan.lockMs : undefined;
    locks.take(
      name,
      from,
      forMs,
      () => answer(run(from, statement)),
      () => {
        if (plan.aborts) transaction.isAborted = true;
        answer({ error: locked() });
      },
    );
  }

  function next(from: Connection): void {
    const first = from.isBusy ? undefined : from.queue.shift();
    if (first === undefined) return;
    const { message } = first;
    from.isBusy = true;
    const answer = (given: Answer): void => {
      if (from.isOver) return;
      from.isBusy = false;
      if (from.transaction !== undefined) watchIdle(from);
      first.answer(given);
      next(from);
    };
    if (message.verb === "begin") return begin(from, answer);
    if (message.verb === "execute") return execute(from, message, answer);
    if (message.verb === "commit") return answer(commitOf(from));
    end(from);
    return answer({ result: nothing });
  }

  return {
    connect(machine) {
      const made: Connection = { machine, isOver: false, transaction: undefined, queue: [], isBusy: false, heardMs: 0 };
      connections.add(made);
      return made;
    },
    handle(from, message, answer) {
      if (from.isOver) return answer({ error: new Error("the connection is closed") });
      from.queue.push({ message, answer });
      next(from);
    },
    serve: createVerbs(world, judge, locks),
    close,
    closeAll(of) {
      for (const each of connections) if (of(each)) close(each);
    },
    lock(name) {
      locks.take(
        name,
        {},
        undefined,
        () => undefined,
        () => undefined,
      );
    },
    get openTransactions() {
      return [...connections].filter(({ transaction }) => transaction !== undefined).length;
    },
  };
}
