/** node-postgres (`pg`). */
import { aborted, handleOf, pooledTransactions, type TransactionHandle, type TransactionRunner } from "./handle.ts";

export interface PgClient {
  query(
    text: string,
    values?: unknown[],
  ): Promise<{ readonly rows: readonly unknown[]; readonly rowCount: number | null }>;
  /** Since pg 8.21: the status that the server sent with its last answer. */
  getTransactionStatus?(): string | null;
}

/** Lent by a pool, which does not listen to the errors of clients it has lent: without a listener they end the process. */
interface LentPgClient extends PgClient {
  release(destroy?: boolean | Error): void;
  on?(event: "error", listener: (error: Error) => void): unknown;
  removeListener?(event: "error", listener: (error: Error) => void): unknown;
}

/** The statement under way, or the next one, fails with the same news. */
function heard(): void {}

export interface PgPool<Client extends PgClient> {
  connect(): Promise<Client & { release(destroy?: boolean | Error): void }>;
}

/** A client after BEGIN: a checked-out `PoolClient` or a `Client` of your own. Never a pool. */
export function fromPg(client: PgClient): TransactionHandle {
  if ("totalCount" in client)
    throw new TypeError("fromPg takes the client inside the transaction, not the pool; see pgTransactions");
  return handleOf({
    dialect: "postgres",
    inside: () => {
      const status = client.getTransactionStatus?.();
      return status === undefined || status === null ? undefined : status === "T";
    },
    async execute(sql, values) {
      const { rows, rowCount } = await client.query(sql, [...values]);
      return { rows: rows as readonly Record<string, unknown>[], affected: rowCount ?? 0 };
    },
  });
}

export function pgTransactions<Client extends PgClient>(pool: PgPool<Client>): TransactionRunner<Client> {
  return pooledTransactions<Client & LentPgClient>({
    dialect: "postgres",
    async acquire() {
      const client: Client & LentPgClient = await pool.connect();
      client.on?.("error", heard);
      return client;
    },
    statement: (client, sql) => client.query(sql),
    async open(client, sql) {
      // Without values `pg` speaks the simple protocol, which takes several statements and answers with one result each.
      const results = (await client.query(`BEGIN; ${sql}`)) as unknown as readonly {
        readonly rows: readonly unknown[];
        readonly rowCount: number | null;
      }[];
      const { rows, rowCount } = results[1] ?? { rows: [], rowCount: 0 };
      return { rows: rows as readonly Record<string, unknown>[], affected: rowCount ?? 0 };
    },
    requireCommitted(result) {
      if ((result as { readonly command?: unknown }).command === "ROLLBACK") throw aborted();
    },
    giveBack(client, broken) {
      client.removeListener?.("error", heard);
      client.release(broken);
    },
    handle: fromPg,
  });
}
