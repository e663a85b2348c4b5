/** Which levels there are, and how long it takes to fill and to measure them. */
import { nameOf, type Level, type Shape, type StoreName } from "./level.ts";
import type { Times } from "./measured.ts";

export interface Asked {
  readonly stores: readonly StoreName[];
  /** Undefined: what each store is known for. */
  readonly rows?: readonly number[] | undefined;
  readonly shapes?: readonly Shape[] | undefined;
}

/** The level that all others of a store are held against. */
export const baseRows = 10_000;

/** What a store is asked for when nothing is said: shapes, each with its levels. */
const usual: Readonly<Record<StoreName, readonly (readonly [Shape, ...number[]])[]>> = {
  postgres: [
    ["own", 1e4],
    ["random", 1e6, 1e7],
    ["v7", 1e6, 1e7],
    ["hash", 1e6],
    ["expired", 1e6],
  ],
  sqlite: [
    ["own", 1e4],
    ["random", 1e6, 1e7],
    ["v7", 1e6],
    ["expired", 1e6],
  ],
  mariadb: [
    ["own", 1e4],
    ["random", 1e6],
    ["v7", 1e6],
    ["expired", 1e6],
  ],
  redis: [
    ["own", 1e4],
    ["random", 1e6],
    ["expired", 1e6],
  ],
  // Its bound, unless a user sets another.
  memory: [["random", 1e5]],
};

interface Costs {
  /** Per record, on an idle machine. */
  readonly fillUs: number;
  /** Of a sweep that walks over all records, per record. */
  readonly walkUs?: number;
  /** Kept on disk per record. */
  readonly bytes: number;
}

const costs: Readonly<Record<StoreName, Costs>> = {
  postgres: { fillUs: 50, bytes: 1_300 },
  sqlite: { fillUs: 15, bytes: 700 },
  mariadb: { fillUs: 60, bytes: 1_000 },
  redis: { fillUs: 40, walkUs: 50, bytes: 1_000 },
  memory: { fillUs: 40, bytes: 0 },
};

const startSeconds = 5;

export function baseOf({ store }: Level): Level {
  return { store, shape: "random", rows: baseRows };
}

export function levelsOf({ stores, rows, shapes }: Asked): readonly Level[] {
  return stores.flatMap((store) =>
    usual[store].flatMap(([shape, ...known]) => {
      if (shapes !== undefined && !shapes.includes(shape)) return [];
      const wanted = rows === undefined ? known : shape === "own" ? [baseRows] : rows;
      return wanted
        .map((count) => ({ store, shape, rows: count }))
        .filter((level) => nameOf(level) !== nameOf(baseOf(level)));
    }),
  );
}

export const fillSeconds = ({ store, rows }: Level): number => startSeconds + (rows * costs[store].fillUs) / 1e6;

export const diskBytes = ({ store, rows }: Level): number => rows * costs[store].bytes;

/** Warming up, one caller, the crowd, sweeps and what follows them. */
export const measureSeconds = ({ store, rows }: Level, { seconds }: Times): number =>
  2 * startSeconds + 2 * seconds + 15 + (rows * (costs[store].walkUs ?? 0)) / 1e6;
