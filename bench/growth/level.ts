/** One table, file or database full of records. */
import type { KeyKind } from "./keys.ts";

export const storeNames = ["postgres", "sqlite", "mariadb", "redis", "memory"] as const;
export type StoreName = (typeof storeNames)[number];

/**
 * `random`: completed records under random keys. `v7`: under keys that begin with a time. `hash`: `random` in a table of
 * 16 hash partitions. `expired`: `random`, the older half past its retention and not swept. `own`: `random`, but written
 * by the store's own verbs, beside which the filled ones are held.
 */
export const shapes = ["random", "v7", "hash", "expired", "own"] as const;
export type Shape = (typeof shapes)[number];

export interface Level {
  readonly store: StoreName;
  readonly shape: Shape;
  readonly rows: number;
}

/** Also the name of a schema, a database and a file. */
export const nameOf = ({ store, shape, rows }: Level): string => `${store}_${shape}_${rows}`;

export const keyKindOf = ({ shape }: Level): KeyKind => (shape === "v7" ? "v7" : "v4");

/** Records from this number on are within their retention. */
export const firstFreshOf = ({ shape, rows }: Level): number => (shape === "expired" ? Math.floor(rows / 2) + 1 : 1);
