/** The `sql` of `postgres` (postgres.js). */
import type { PostgresJsQuery, PostgresJsSql } from "./client.ts";
import { isRows } from "./connection.ts";
import type { Connection } from "./connection.ts";
import { DeadlineError } from "./failures.ts";

/**
 * The driver asks the server for the types of an unnamed statement before it binds it: two messages to and fro in one
 * transaction. With `prepare` it does so once per connection.
 */
export function postgresJsConnection(sql: PostgresJsSql, prepare: boolean): Connection {
  return {
    async run(statement, values, timeoutMs) {
      const query = sql.unsafe(statement.text, [...values] as never[], { prepare });
      const rows = await within(query, query.values(), timeoutMs);
      return isRows(rows) ? [...rows] : [];
    },
    async script(text, timeoutMs) {
      const query = sql.unsafe(text);
      await within(query, query.simple(), timeoutMs);
    },
  };
}

function within(query: PostgresJsQuery, pending: PromiseLike<unknown>, timeoutMs: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new DeadlineError(`no answer within ${timeoutMs} ms`));
      // Still in the driver's queue: no claim may run for a caller that has left. One already sent is left alone, as
      // cancelling it needs another connection, and its failure would be nobody's to catch.
      if ("state" in query && query.state === null) query.cancel();
    }, timeoutMs);
    pending.then(
      (rows) => {
        clearTimeout(timer);
        resolve(rows);
      },
      (error: Error) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}
