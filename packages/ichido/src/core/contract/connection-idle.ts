/**
 * Lets a caller wait until no transaction is open on a shared connection. The runners that use the connection report
 * that between two transactions; they find each other through the connection itself.
 */
const waiting = new WeakMap<object, Set<() => void>>();

/** Calls `run` once, between two transactions; the returned function cancels that. */
export function onIdle(connection: object, run: () => void): () => void {
  let runs = waiting.get(connection);
  if (runs === undefined) {
    runs = new Set();
    waiting.set(connection, runs);
  }
  runs.add(run);
  const all = runs;
  return () => all.delete(run);
}

/** Call it when no transaction is open on the connection. */
export function notifyIdle(connection: object): void {
  const runs = waiting.get(connection);
  if (runs === undefined || runs.size === 0) return;
  const told = [...runs];
  runs.clear();
  for (const run of told) run();
}
