/** What every verb works with: the connection, the clock, and the queue of what reads and writes. */
import type { Connection } from "./database.ts";
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

// Taken once: a test that replaces the global clock must not move that of the store it shares a process with.
const hostNowMs = Date.now;

/** All processes of a SQLite file share its host, and so the clock that SQLite itself would read. */
export function hostNowUs(): number {
  return hostNowMs() * 1_000;
}
