/** Transactions of MySQL and MariaDB on connections that a pool lends, watched from BEGIN to COMMIT. */
import type { TransactionRunner } from "../core/contract/transaction.ts";
import { pooledTransactions, type PooledParts } from "./pooled.ts";
import { end, requireWhole, watch, type Say } from "./whole.ts";

async function control(word: string, say: Say): Promise<unknown> {
  if (word === "COMMIT") await requireWhole(say);
  if (word === "COMMIT" || word === "ROLLBACK") return end(word, say);
  const answer = await say(word);
  if (word === "BEGIN") await watch(say);
  return answer;
}

/** A connection that fails at any of it is not lent again. */
export function watchedTransactions<Connection>(parts: PooledParts<Connection>): TransactionRunner<Connection> {
  const bare = pooledTransactions(parts);
  const watched = pooledTransactions({
    ...parts,
    statement: (connection, word) => control(word, (sql) => parts.statement(connection, sql)),
  });
  return {
    ...watched,
    run: (fn, options) => (options?.unwatched === true ? bare : watched).run(fn, options),
  };
}
