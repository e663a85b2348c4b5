/**
 * A function inside a transaction may ask the same pool for another connection. If as many of them as the pool has
 * connections did so at once, each would wait for the others for ever, and the rest of the program with them. So
 * transactions never take the last one: functions that ask for a second connection get that one, one after the other.
 */
import { DeadlineExceeded } from "../core/contract/deadline.ts";
import { DeadlinesByLength } from "../core/contract/deadlines.ts";
import { limits } from "../core/contract/defaults.ts";
import { systemEnvironment } from "../core/contract/environment.ts";
import { secondConnection, type TransactionRunner } from "../core/contract/transaction.ts";

const deadlines = new DeadlinesByLength(systemEnvironment);

/** One line per pool, however many runners are over it. */
class Line {
  #inside = 0;
  readonly #waiting: PromiseWithResolvers<void>[] = [];

  enter(max: number): Promise<void> | undefined {
    if (this.#inside < max) {
      this.#inside += 1;
      return undefined;
    }
    const free = Promise.withResolvers<void>();
    this.#waiting.push(free);
    return free.promise;
  }

  leave(): void {
    const next = this.#waiting.shift();
    // The one that leaves passes its place on to the next.
    if (next === undefined) this.#inside -= 1;
    else next.resolve();
  }
}

const lines = new WeakMap<object, Line>();

function lineOf(pool: object): Line {
  let line = lines.get(pool);
  if (line === undefined) {
    line = new Line();
    lines.set(pool, line);
  }
  return line;
}

function member(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, name) => Reflect.get(Object(inner), name), value);
}

/** Where each library keeps its pool, and where each pool says how many connections it may have. */
const paths = [
  [],
  ["pool"],
  ["client", "pool"],
  ["driver", "master"],
  ["connectionManager", "pool"],
  ["$client"],
  ["$client", "pool"],
] as const;
const sizes = [["options", "max"], ["config", "connectionLimit"], ["max"], ["maxSize"]] as const;

interface Sized {
  readonly pool: object;
  readonly max: number;
}

/** Undefined where a library does not show it: Kysely hides its pool, that of mariadb its size. */
export function sizedPoolOf(library: unknown): Sized | undefined {
  for (const path of paths) {
    const pool = member(library, ...path);
    for (const size of sizes) {
      const max = member(pool, ...size);
      if (typeof max === "number" && max > 0) return { pool: pool as object, max };
    }
  }
  return undefined;
}

/** The deadline's error says what to do about it. */
export function noConnection(callMs: number, cause: unknown): unknown {
  if (!(cause instanceof DeadlineExceeded)) return cause;
  return new DeadlineExceeded(`no connection of the pool was free within ${callMs} ms. ${secondConnection}`, { cause });
}

/** With the option `leavesOne`, transactions of this pool never take its last connection. */
export function sparing<Tx>(runner: TransactionRunner<Tx>, library: unknown): TransactionRunner<Tx> {
  /** Looked for at the first transaction: a library may make its pool when it connects. */
  let found: { readonly sized: Sized | undefined } | undefined;
  return {
    ...runner,
    async run(fn, options = {}) {
      if (options.leavesOne !== true) return runner.run(fn, options);
      found ??= { sized: sizedPoolOf(library) };
      const { sized } = found;
      // There is nothing to spare of a single one.
      if (sized === undefined || sized.max < 2) return runner.run(fn, options);
      const { callMs = limits.controlMsDefault } = options;
      const line = lineOf(sized.pool);
      const free = line.enter(sized.max - 1);
      if (free !== undefined) {
        try {
          await deadlines.bound(callMs, free, { late: () => line.leave() });
        } catch (error) {
          throw noConnection(callMs, error);
        }
      }
      try {
        return await runner.run(fn, options);
      } finally {
        line.leave();
      }
    },
  };
}
