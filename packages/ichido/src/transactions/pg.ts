/** node-postgres (`pg`). */
import { knownOptions } from "../core/contract/option-checks.ts";
import {
  aborted,
  handleOf,
  type CheckedHandle,
  type TransactionHandle,
  type TransactionResult,
  type TransactionRunner,
} from "./handle.ts";
import { idleTimeout } from "./idle-timeout.ts";
import { IchidoError } from "../core/contract/errors.ts";
import { ignoreClientErrors, ignoreClientErrorsOf } from "../drivers/pg/errors.ts";
import { refuseBinary, typesOf } from "../drivers/pg/types.ts";
import { BatchError, isFatal } from "../drivers/pg/batch.ts";
import { pooledTransactions, StatementRefused, type Pipelining, type Statement } from "./pooled.ts";
import { sessionOf, type PgSession } from "./pg-session.ts";
import { sparing } from "./spare.ts";

export interface PgConnection {
  query(
    text: string,
    values?: unknown[],
  ): Promise<{ readonly rows: readonly unknown[]; readonly rowCount: number | null }>;
  /** Since pg 8.21: the status that the server sent with its last answer. */
  getTransactionStatus?(): string | null;
}

interface LentPgClient extends PgConnection {
  release(destroy?: boolean | Error): void;
}

export interface PgConnectionPool<Client extends PgConnection> {
  connect(): Promise<Client & { release(destroy?: boolean | Error): void }>;
}

export interface PgTransactionsOptions {
  /**
   * Whether frequent statements stay prepared on their connection. Default `"auto"`: where no pooler stands between, which
   * is found out by itself.
   */
  readonly prepare?: "auto" | false;
}

/** A client after BEGIN: a checked-out `PoolClient` or a `Client` of your own. Never a pool. */
export function fromPg(client: PgConnection): TransactionHandle {
  // Nothing stays prepared: what is lost on a session is noticed with BEGIN, and that was not ours to send.
  return handleOn(client, false);
}

function handleOn(client: PgConnection, prepare: PgTransactionsOptions["prepare"]): CheckedHandle {
  if ("totalCount" in client)
    throw new IchidoError(
      "usage-invalid",
      "fromPg takes the client inside the transaction, not the pool; see pgTransactions",
    );
  return handleOf({
    dialect: "postgres",
    inside: () => {
      const status = client.getTransactionStatus?.();
      if (status === "E") throw aborted();
      return status === undefined || status === null ? undefined : status === "T";
    },
    async execute(sql, values, { frequent = false } = {}) {
      const found = frequent && prepare !== false ? sessionOf(client, prepare) : undefined;
      const session = found instanceof Promise ? await found : found;
      return session?.direct === true ? session.run({ sql, values, frequent }) : executeOn(client, { sql, values });
    },
  });
}

/** For clients that take no batch: those of `pg-native`, and those that pipeline. */
const oneByOne = {
  /** Without values `pg` speaks the simple protocol, which takes two statements at once. */
  begin(client: PgConnection, idleMs: number | undefined): Promise<unknown> {
    return client.query(
      idleMs === undefined ? "BEGIN" : `BEGIN; ${idleTimeout.replaceAll("$1", `'${Math.ceil(idleMs)}'`)}`,
    );
  },
  async open(client: PgConnection, statement: Statement, idleMs: number | undefined): Promise<TransactionResult> {
    await oneByOne.begin(client, idleMs);
    return executeOn(client, statement);
  },
  async close(client: PgConnection, statements: readonly Statement[]): Promise<unknown> {
    for (const [place, statement] of statements.entries()) {
      try {
        await executeOn(client, statement);
      } catch (cause) {
        throw isFatal(cause) ? cause : new StatementRefused(place, explained(cause));
      }
    }
    return client.query("COMMIT");
  },
};

async function executeOn(client: PgConnection, { sql, values }: Statement): Promise<TransactionResult> {
  const types = typesOf(client);
  const query = { text: sql, values: [...values], types } as unknown as string;
  const { rows, rowCount } = await (types === undefined ? client.query(sql, [...values]) : client.query(query));
  return { rows: rows as readonly Record<string, unknown>[], affected: rowCount ?? 0 };
}

/** The transaction had failed before, and the function has caught that. */
function explained(error: unknown): unknown {
  return Reflect.get(Object(error), "code") === "25P02" ? aborted(error) : error;
}

async function closeBatch(session: PgSession, statements: readonly Statement[]): Promise<unknown> {
  try {
    return { command: await session.close(statements) };
  } catch (error) {
    if (!(error instanceof BatchError)) throw error;
    const { cause, completed } = error;
    if (completed >= statements.length || isFatal(cause)) throw cause;
    throw new StatementRefused(completed, explained(cause));
  }
}

function pipeliningFor<Client extends PgConnection>({ prepare = "auto" }: PgTransactionsOptions): Pipelining<Client> {
  /** At once where the connection is known, which it nearly always is. */
  function on<Value>(
    client: Client,
    speak: (session: PgSession) => Promise<Value>,
    otherwise: () => Promise<Value>,
  ): Promise<Value> {
    const session = sessionOf(client, prepare);
    if (session === undefined) return otherwise();
    return session instanceof Promise ? session.then(speak) : speak(session);
  }
  return {
    begin: (client, idleMs) =>
      on(
        client,
        (session) => session.begin(idleMs),
        () => oneByOne.begin(client, idleMs),
      ),
    open: (client, statement, idleMs) =>
      on(
        client,
        (session) => session.open(statement, idleMs),
        () => oneByOne.open(client, statement, idleMs),
      ),
    close: (client, statements) =>
      on(
        client,
        (session) => closeBatch(session, statements),
        () => oneByOne.close(client, statements),
      ),
    ask: (client, statement) =>
      on(
        client,
        (session) => session.ask(statement),
        () => executeOn(client, statement),
      ),
  };
}

/**
 * The end of the connection is not waited for: the server may hear nothing any more. The last errors of the connection
 * are ignored: the pool would report them as errors of its own.
 */
function destroy(client: LentPgClient): void {
  client.release(true);
  const stream: unknown = Reflect.get(Object(Reflect.get(client, "connection")), "stream");
  const end: unknown = Reflect.get(Object(stream), "destroy");
  if (typeof end === "function") end.call(stream);
}

export function pgTransactions<Client extends PgConnection>(
  pool: PgConnectionPool<Client>,
  options: PgTransactionsOptions = {},
): TransactionRunner<Client> {
  knownOptions("pgTransactions", options, { prepare: true });
  ignoreClientErrorsOf(pool);
  refuseBinary(pool);
  const runner = pooledTransactions<Client & LentPgClient>({
    dialect: "postgres",
    acquire: () =>
      pool.connect().then((client) => {
        // A pool of another make may have no event for lending.
        ignoreClientErrors(client);
        return client;
      }),
    statement: (client, sql) => client.query(sql),
    pipelining: pipeliningFor(options),
    requireCommitted(result) {
      if ((result as { readonly command?: unknown }).command === "ROLLBACK") throw aborted();
    },
    giveBack: (client, broken) => (broken ? destroy(client) : client.release()),
    handle: (client) => handleOn(client, options.prepare),
  });
  return sparing(runner, pool);
}
