/**
 * Somebody who waits until a connection that others use for their transactions is free: told between two transactions,
 * by runners that know of each other through the connection itself.
 */
const waiting = new WeakMap<object, Set<() => void>>();

/** Calls `run` once, between two transactions; the function that is given back takes that back. */
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

/** No transaction is open on it at this moment. */
export function notifyIdle(connection: object): void {
  const runs = waiting.get(connection);
  if (runs === undefined || runs.size === 0) return;
  const told = [...runs];
  runs.clear();
  for (const run of told) run();
}
