/** The `sql` of `postgres` (postgres.js). */
import type { PostgresJsQuery, PostgresJsSql } from "./client.ts";
import { isRows, type Connection, type Row } from "./connection.ts";
import { plainValue } from "../../drivers/pg/types.ts";
import { DeadlineError, serverMs } from "./failures.ts";

/** The driver had no connection for a statement in time, and has not sent it. */
export class NoConnection extends Error {
  override readonly name = "NoConnection";
}

/** What to do with a statement that has waited for a connection for so long: go on waiting, or give up. */
export interface Patience {
  readonly waitMs: number;
  onStarved(): "wait" | "leave";
}

/**
 * The driver asks the server for the types of an unnamed statement before it binds it: two messages to and fro in one
 * transaction. With `prepare` it does so once per connection.
 */
export function postgresJsConnection(sql: PostgresJsSql, prepare: boolean, patience?: Patience): Connection {
  return {
    async run(statement, values, timeoutMs) {
      const query = sql.unsafe(statement.text, [...values] as never[], { prepare });
      const rows = await within(query, query.raw(), timeoutMs, patience);
      return isRows(rows) ? plainRows(rows) : [];
    },
    ...("begin" in sql && {
      look: async (statement, values, timeoutMs) => {
        const rows = await inTransaction(sql, timeoutMs, (tx) =>
          tx.unsafe(statement.text, [...values] as never[], { prepare: false }).raw(),
        );
        return isRows(rows) ? plainRows(rows) : [];
      },
    }),
  };
}

/** The driver ends a transaction by itself, also one whose caller has left; until it has a connection, nothing is sent. */
async function inTransaction(
  sql: PostgresJsSql,
  timeoutMs: number,
  work: (tx: PostgresJsSql) => PromiseLike<unknown>,
): Promise<unknown> {
  const late = new DeadlineError(`no answer within ${timeoutMs} ms`);
  const startedMs = performance.now();
  const done = sql.begin?.(async (tx) => {
    const leftMs = timeoutMs - (performance.now() - startedMs);
    if (leftMs <= 0) throw late;
    await tx.unsafe(`set local statement_timeout = ${serverMs(leftMs)}`).simple();
    return work(tx);
  });
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late), timeoutMs);
  });
  try {
    return await Promise.race([done, over]);
  } finally {
    clearTimeout(timer);
  }
}

/** Raw, so that no parser and no transform of the program's is asked. */
function plainRows(rows: readonly Row[]): readonly Row[] {
  const { columns = [] } = rows as { readonly columns?: readonly { readonly type: number }[] };
  return rows.map((row) =>
    row.map((value, place) =>
      value instanceof Uint8Array
        ? plainValue(
            columns[place]?.type ?? 0,
            Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString(),
          )
        : null,
    ),
  );
}

/** Still in the driver's queue: it has no connection for it. */
function isQueued(query: PostgresJsQuery): boolean {
  return "state" in query && query.state === null;
}

/**
 * The driver gives a statement to a connection while that is being made, and this cannot be told from waiting in its
 * queue. Cancelled there, the statement is left out, and the connection is never used again (postgres 3.4). So it is
 * sent after all, and says nothing.
 */
function withdraw(query: PostgresJsQuery): void {
  query.cancel();
  if ("cancelled" in query) Object.assign(query, { cancelled: null, strings: ["select 1"], args: [] });
}

function within(
  query: PostgresJsQuery,
  pending: PromiseLike<unknown>,
  timeoutMs: number,
  patience?: Patience,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const look =
      patience &&
      setTimeout(() => {
        if (!isQueued(query) || patience.onStarved() === "wait") return;
        clearTimeout(timer);
        reject(new NoConnection("every connection is in use"));
        withdraw(query);
      }, patience.waitMs);
    const timer = setTimeout(() => {
      reject(new DeadlineError(`no answer within ${timeoutMs} ms`));
      // No claim may run for a caller that has left. One already sent is left alone, as cancelling it needs another
      // connection, and no code could catch the failure of that.
      if (isQueued(query)) withdraw(query);
    }, timeoutMs);
    pending.then(
      (rows) => {
        clearTimeout(timer);
        clearTimeout(look);
        resolve(rows);
      },
      (error: Error) => {
        clearTimeout(timer);
        clearTimeout(look);
        reject(error);
      },
    );
  });
}
