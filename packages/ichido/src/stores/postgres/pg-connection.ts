/** A `Pool` or a `Client` of `pg`. */
import type { PgClient, PgPool, PgPoolClient, PgQuery, PgQueryable } from "./client.ts";
import { isRows, type Connection, type Prepare, type Row } from "./connection.ts";
import { DeadlineError, keepsConnection, serverMs, sqlStateOf } from "./failures.ts";
import { plainTypes } from "../../drivers/pg/types.ts";
import { ignoreClientErrors, ignoreClientErrorsOf } from "../../drivers/pg/errors.ts";
import { createPreparedPolicy } from "./prepared.ts";

/** Lends a queryable for one piece of work, with what is left of the time. */
type Lend = <Value>(
  timeoutMs: number,
  work: (queryable: PgQueryable, leftMs: number) => Promise<Value>,
) => Promise<Value>;

export function pgConnection(lend: Lend, prepare: Prepare): Connection {
  const prepared = createPreparedPolicy(prepare);
  return {
    run: (statement, values, timeoutMs) =>
      lend(timeoutMs, async (queryable, leftMs) => {
        const { name, text } = statement;
        const query = { text, values, rowMode: "array", types: plainTypes, query_timeout: leftMs } as const;
        if (!prepared.shouldPrepare(queryable, statement)) {
          const rows = await ask(queryable, query);
          prepared.observe(queryable, statement, rows);
          return rows;
        }
        try {
          const rows = await ask(queryable, { ...query, name });
          prepared.observe(queryable, statement, rows);
          return rows;
        } catch (error) {
          throw prepared.explain(queryable, error);
        }
      }),
    isPooled: (timeoutMs) =>
      lend(timeoutMs, async (queryable, leftMs) => {
        const text = "select pg_backend_pid()";
        const [row] = await ask(queryable, { text, rowMode: "array", query_timeout: leftMs });
        const { processID } = queryable;
        return typeof processID === "number" && Number(row?.[0]) !== processID;
      }),
  };
}

/** Of a pool alone: a connection that is lent serves nobody else meanwhile, and is given up where its transaction may be open. */
export function pgPoolConnection(pool: PgPool, prepare: Prepare): Connection {
  const lend = lendFromPool(pool);
  return {
    ...pgConnection(lend, prepare),
    look: ({ text }, values, timeoutMs) =>
      lend(timeoutMs, async (queryable, leftMs) => {
        const rowMode = "array" as const;
        const query_timeout = leftMs;
        try {
          const begin = `begin; set local statement_timeout = ${serverMs(leftMs)}`;
          await ask(queryable, { text: begin, rowMode, query_timeout });
          const rows = await ask(queryable, { text, values, rowMode, types: plainTypes, query_timeout });
          await ask(queryable, { text: "commit", rowMode, query_timeout });
          return rows;
        } catch (error) {
          if (keepsConnection(error)) await ask(queryable, { text: "rollback", rowMode, query_timeout });
          throw error;
        }
      }),
  };
}

type BoundedQuery = PgQuery & { readonly query_timeout: number };

function ask(queryable: PgQueryable, query: BoundedQuery): Promise<readonly Row[]> {
  return within(query.query_timeout, async () => {
    const { rows } = await queryable.query(query);
    return isRows(rows) ? rows : [];
  });
}

async function within(timeoutMs: number, send: () => Promise<readonly Row[]>): Promise<readonly Row[]> {
  const startedMs = performance.now();
  try {
    return await send();
  } catch (error) {
    // `pg` names its own timeout by a message only; the time that has passed shows it as well.
    const passedMs = performance.now() - startedMs;
    if (sqlStateOf(error) !== undefined || passedMs < timeoutMs - timerSlackMs) throw error;
    throw new DeadlineError(`no answer within ${timeoutMs} ms`, { cause: error });
  }
}

const timerSlackMs = 2;

function lendFromPool(pool: PgPool): Lend {
  ignoreClientErrorsOf(pool);
  return async (timeoutMs, work) => {
    const startedMs = performance.now();
    const client = await checkOut(pool, timeoutMs);
    // A pool of another make may have no event for lending.
    ignoreClientErrors(client);
    let destroy = false;
    try {
      return await work(client, Math.max(1, Math.ceil(timeoutMs - (performance.now() - startedMs))));
    } catch (error) {
      destroy = !keepsConnection(error);
      throw error;
    } finally {
      client.release(destroy);
    }
  };
}

function ignore(): void {}

/** A connection that comes after the deadline goes back unused: no claim may run for a caller that has left. */
function checkOut(pool: PgPool, timeoutMs: number): Promise<PgPoolClient> {
  return new Promise((resolve, reject) => {
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      reject(new DeadlineError(`no connection from the pool within ${timeoutMs} ms`));
    }, timeoutMs);
    pool.connect().then(
      (client) => {
        clearTimeout(timer);
        if (late) client.release();
        else resolve(client);
        return undefined;
      },
      (error: Error) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}

/** A client without `pipeline` answers one query at a time, and warns when it is asked for more. */
export function lendClient(client: PgClient): Lend {
  let last: Promise<unknown> = Promise.resolve();
  return (timeoutMs, work) => {
    if (client.pipeline === true) return work(client, timeoutMs);
    const startedMs = performance.now();
    const mine = last.then(() => {
      const leftMs = Math.ceil(timeoutMs - (performance.now() - startedMs));
      if (leftMs <= 0) throw new DeadlineError(`the client was busy for ${timeoutMs} ms`);
      return work(client, leftMs);
    });
    last = mine.catch(ignore);
    return mine;
  };
}
