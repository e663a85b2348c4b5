/**
 * postgres.js prepares its COMMIT by name. Through a pooler in transaction mode, the session of a later transaction may not
 * know that name: the server refuses the statement, which spoils the transaction; the driver sends COMMIT once more, is
 * answered by ROLLBACK, and tells that all went well (postgres 3.4). So COMMIT is sent here, without a name, and its
 * answer is read. The BEGIN behind it leaves the driver an empty transaction to end, however it ends it.
 */
import { aborted } from "./handle.ts";

export type Say = (sql: string) => PromiseLike<unknown>;

/** Of the `sql` of postgres.js: without `prepare` nothing has a name. */
export function preparesCommit(client: unknown): boolean {
  if (typeof client !== "function" || !("begin" in client)) return false;
  const { options } = client as { readonly options?: { readonly prepare?: unknown } };
  return options?.prepare !== false;
}

/** Rejects where nothing was committed, or where nobody knows. */
export async function commitByHand(say: Say): Promise<void> {
  // Committed is committed, whatever became of the other one.
  const [committed] = await Promise.allSettled([say("commit"), say("begin")]);
  if (committed.status === "rejected") throw committed.reason;
  const { command } = committed.value as { readonly command?: unknown };
  if (command !== "COMMIT") throw aborted();
}
