/** A runner over a library with a `transaction(fn)` of its own. */
import { aroundLibrary, type TransactionHandle, type TransactionRunner } from "./handle.ts";
import type { Begin } from "./lost-link.ts";
import { sparing } from "./spare.ts";

export interface Library<Tx> {
  readonly dialect: TransactionHandle["dialect"];
  readonly begin: Begin<Tx>;
  readonly handle: (tx: Tx) => TransactionHandle;
  /** Where its pool is looked for; absent where it hides it. */
  readonly pool?: unknown;
  /** It gives a connection back by itself, in the middle of a transaction. */
  readonly givesBack?: boolean;
}

export function libraryTransactions<Tx>({
  dialect,
  begin,
  handle,
  pool,
  givesBack = false,
}: Library<Tx>): TransactionRunner<Tx> {
  return sparing({ dialect, run: (fn, options) => aroundLibrary(begin, handle, fn, { ...options, givesBack }) }, pool);
}
