/** What every verb works with: the connection, the clock, and the queue of what reads and writes. */
import type { Connection } from "./database.ts";
import { integer } from "./row.ts";
import type { Statements } from "./statements.ts";
import type { WriteQueue } from "./write-queue.ts";

export interface Session {
  readonly connection: Connection;
  readonly statements: Statements;
  readonly queue: WriteQueue;
  /** The store's clock, in microseconds. */
  readonly nowUs: () => number;
  /** A clock of a test's own, in place of the one that statements read. */
  readonly testUs: (() => number) | undefined;
}

/** All processes of a SQLite file share its host, and so the clock that SQLite reads. */
export function clockOf(connection: Connection, { now }: Statements): () => number {
  return () => {
    const row = connection.get(now);
    if (row === undefined) throw new TypeError("SQLite did not tell the time");
    return integer(row, "now_ms") * 1000;
  };
}
