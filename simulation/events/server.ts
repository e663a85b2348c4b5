/**
 * The far end of the way to the database: connections, and one write lock that they wait for. A connection that is gone
 * takes its transaction with it, as soon as the database sees that it is gone.
 */
import type { TransactionResult } from "../../packages/ichido/src/core/contract/transaction.ts";
import type { Machine } from "../machine.ts";
import { emptyDatabase, runStatement } from "./database.ts";
import type { Ledger } from "./ledger.ts";
import type { EventsWorld } from "./world.ts";

export type Message =
  | { readonly verb: "commit" | "rollback" }
  /** BEGIN travels with the first statement. */
  | { readonly verb: "execute"; readonly sql: string; readonly values: readonly unknown[]; readonly begins: boolean };

export interface Statement {
  readonly sql: string;
  readonly values: readonly unknown[];
}

export interface Written extends Statement {
  readonly affected: number;
}

export type Answer = { readonly result: TransactionResult } | { readonly error: Error };

export interface Connection {
  readonly machine: Machine;
  isOver: boolean;
  /** What its transaction has written. */
  readonly wrote: Written[];
}

export interface DatabaseServer {
  connect(machine: Machine): Connection;
  /** Answers at once, or where a transaction begins when the lock is free or was waited for too long. */
  handle(connection: Connection, message: Message, answer: (answer: Answer) => void): void;
  /** The connection is gone. */
  close(connection: Connection): void;
  closeAll(of: (connection: Connection) => boolean): void;
}

/** A transaction that says nothing for so long is ended. */
const idleMs = 5_000;
const nothing: TransactionResult = { rows: [], affected: 0 };
const reads = /^\s*select/i;

/** As SQLite says it. */
function locked(): Error {
  return Object.assign(new Error("database is locked"), { errcode: 5 });
}

export function createDatabaseServer(world: EventsWorld, ledger: Ledger): DatabaseServer {
  emptyDatabase(() => world.databaseNowMs());
  const { scheduler } = world;
  const connections = new Set<Connection>();
  let holder: Connection | undefined;
  let heardMs = 0;
  const waiting: { readonly connection: Connection; readonly granted: () => void }[] = [];

  function grant(): void {
    const next = waiting.shift();
    if (next === undefined) return;
    hold(next.connection);
    next.granted();
  }

  function hold(connection: Connection): void {
    holder = connection;
    connection.wrote.length = 0;
    runStatement("begin immediate");
    heardMs = world.nowMs;
    scheduler.after(idleMs, () => watch(connection));
  }

  function watch(connection: Connection): void {
    if (holder !== connection) return;
    if (heardMs + idleMs > world.nowMs) scheduler.at(heardMs + idleMs, () => watch(connection));
    else close(connection);
  }

  function end(word: "commit" | "rollback"): void {
    const connection = holder;
    if (connection === undefined) return;
    runStatement(word);
    holder = undefined;
    if (word === "commit") {
      world.counts.commits += 1;
      ledger.committed(connection.machine, connection.wrote);
    }
    grant();
  }

  function close(connection: Connection): void {
    if (connection.isOver) return;
    connection.isOver = true;
    connections.delete(connection);
    const place = waiting.findIndex((each) => each.connection === connection);
    if (place >= 0) waiting.splice(place, 1);
    if (holder === connection) end("rollback");
  }

  function begin(connection: Connection, granted: () => void, answer: (answer: Answer) => void): void {
    if (holder === undefined) {
      hold(connection);
      return granted();
    }
    world.troubled.add(connection.machine);
    const place = { connection, granted };
    waiting.push(place);
    scheduler.after(world.plan.busyMs, () => {
      const index = waiting.indexOf(place);
      if (index < 0) return;
      waiting.splice(index, 1);
      world.refusedMs.set(connection.machine, world.nowMs);
      answer({ error: locked() });
    });
  }

  function execute(connection: Connection, { sql, values }: Statement, answer: (answer: Answer) => void): void {
    heardMs = world.nowMs;
    try {
      const result = runStatement(sql, values);
      if (!reads.test(sql)) connection.wrote.push({ sql, values, affected: result.affected });
      answer({ result });
    } catch (error) {
      answer({ error: error as Error });
    }
  }

  return {
    connect(machine) {
      const connection: Connection = { machine, isOver: false, wrote: [] };
      connections.add(connection);
      return connection;
    },
    handle(connection, message, answer) {
      world.counts.databaseCalls += 1;
      if (connection.isOver) return answer({ error: new Error("the connection is closed") });
      if (message.verb === "execute" && message.begins)
        return begin(connection, () => execute(connection, message, answer), answer);
      if (holder !== connection) return answer({ error: new Error("no transaction is open") });
      if (message.verb === "execute") return execute(connection, message, answer);
      end(message.verb);
      answer({ result: nothing });
    },
    close,
    closeAll(of) {
      for (const connection of connections) if (of(connection)) close(connection);
    },
  };
}
