/** What a storm came to, so far: counted in the ledger, the log and the databases, never estimated. */
import type { LaneName } from "./contract.ts";
import type { StormOrder } from "./storm-plan.ts";
import type { Slice, SliceCounts } from "./storm-slices.ts";

/** One payment, as its buyer saw it. */
export interface Bought {
  readonly run: string;
  readonly paid: boolean;
  readonly tookMs: number;
}

export interface LaneStorm {
  readonly bought: number;
  /** By the bank's ledger. */
  readonly chargedOnce: number;
  readonly chargedMore: number;
  readonly chargedNever: number;
  /** The buyer gave up without an answer. */
  readonly untold: number;
  /** Of all buyers, by their own clocks. */
  readonly p50Ms?: number;
  readonly p95Ms?: number;
  readonly p99Ms?: number;
  /** "< 3/n at 95 %": what zero in n payments allows to say, of whatever was not seen in them. */
  readonly zeroBoundPercent?: number;
  readonly restarts: number;
  readonly arrivals: number;
  /** How often the connections of its database were ended. Absent: it is a file, and has none. */
  readonly databaseDrops?: number;
  /** Payments whose attempt vanished, and how many of their buyers were told in the end that they had paid. */
  readonly leftOpen: number;
  readonly resolved: number;
  readonly bytesPerPayment?: number;
}

export interface StormView {
  readonly order: StormOrder;
  /** Stopping: nobody buys any more, and those who are at it are waited for. */
  readonly state: "running" | "stopping" | "stopped" | "done" | "failed";
  readonly error?: string;
  readonly lane?: LaneName;
  /** Payments that have ended, of those of both lanes, and for how long it has run. */
  readonly progress: { readonly bought: number; readonly of: number; readonly tookMs: number };
  readonly lanes: Readonly<Partial<Record<LaneName, LaneStorm>>>;
  readonly slices: Readonly<Partial<Record<LaneName, readonly Slice[]>>>;
  /** How long a slice of a lane is. */
  readonly sliceMs: Readonly<Partial<Record<LaneName, number>>>;
  /** Of all slices. */
  readonly totals: Readonly<Partial<Record<LaneName, SliceCounts>>>;
  /** Payments by how long they took: upper bounds in milliseconds, and how many in each lane. */
  readonly histogram: readonly { readonly untilMs: number; readonly counts: Partial<Record<LaneName, number>> }[];
}

const BOUNDS_MS = [5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 60_000] as const;

export function laneStorm(
  bought: readonly Bought[],
  chargesOf: ReadonlyMap<string, number>,
  counts: {
    readonly restarts: number;
    readonly arrivals: number;
    /** Absent: the database has no connections. */
    readonly databaseDrops?: number;
    /** Runs that another attempt took over. */
    readonly takenOver: ReadonlySet<string>;
    readonly bytes?: number;
  },
): LaneStorm {
  const times = bought.map(({ tookMs }) => tookMs).toSorted((one, other) => one - other);
  const charges = bought.map(({ run }) => chargesOf.get(run) ?? 0);
  const open = bought.filter(({ run }) => counts.takenOver.has(run));
  const at = (part: number): number =>
    Math.round(times[Math.min(times.length - 1, Math.floor(part * times.length))] ?? 0);
  return {
    bought: bought.length,
    chargedOnce: charges.filter((count) => count === 1).length,
    chargedMore: charges.filter((count) => count > 1).length,
    chargedNever: charges.filter((count) => count === 0).length,
    untold: bought.filter(({ paid }) => !paid).length,
    restarts: counts.restarts,
    arrivals: counts.arrivals,
    ...(counts.databaseDrops === undefined ? {} : { databaseDrops: counts.databaseDrops }),
    leftOpen: open.length,
    resolved: open.filter(({ paid }) => paid).length,
    ...(times.length === 0 ? {} : { p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99) }),
    ...(bought.length > 0 ? { zeroBoundPercent: boundOf(bought.length) } : {}),
    ...(counts.bytes === undefined || bought.length === 0
      ? {}
      : { bytesPerPayment: Math.round(counts.bytes / bought.length) }),
  };
}

/** Of three or fewer nothing can be said. */
function boundOf(payments: number): number {
  return Math.min(100, Math.round(30_000 / payments) / 100);
}

export function histogramOf(bought: Readonly<Partial<Record<LaneName, readonly Bought[]>>>): StormView["histogram"] {
  return BOUNDS_MS.map((untilMs, index) => {
    const fromMs = BOUNDS_MS[index - 1] ?? 0;
    const within = ({ tookMs }: Bought): boolean => tookMs >= fromMs && tookMs < untilMs;
    const counts = Object.fromEntries(
      Object.entries(bought).map(([lane, all]) => [lane, all.filter(within).length]),
    ) as Partial<Record<LaneName, number>>;
    return { untilMs, counts };
  });
}
