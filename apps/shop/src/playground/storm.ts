/** A storm: many buyers at once, on the real lanes, under a schedule of faults. One lane after the other, the same schedule. */
import { lanes, type LaneName } from "./contract.ts";
import { grownBetween, type Grown } from "./forecast.ts";
import type { World } from "./playground.ts";
import { setBankMode } from "./runs.ts";
import { blowOver, countsOf, readLane, type LaneState } from "./storm-lane.ts";
import { planOf, type StormOrder } from "./storm-plan.ts";
import { histogramOf, type StormView } from "./storm-view.ts";

export interface Storm {
  readonly isRunning: boolean;
  readonly ended: Promise<void>;
  /** Keys that the protected lane took, so far. Absent before its turn. */
  readonly grown: Grown | undefined;
  view(): Promise<StormView>;
  /** Nobody buys any more. Those who are at it end as they would have: what they were charged is to be counted. */
  stop(): void;
  /** Counts no longer: another storm follows. */
  leave(): void;
}

/** The ledger grows with every storm, and is read whole: not more often than this, however many look on. */
const VIEW_MS = 1_000;

export function startStorm(world: World, order: StormOrder, name: string): Storm {
  const plan = planOf(order);
  const states: Partial<Record<LaneName, LaneState>> = {};
  const beganMs = performance.now();
  let endedMs: number | undefined;
  let state: StormView["state"] = "running";
  let error: string | undefined;
  let current: LaneName | undefined;
  const isStopping = (): boolean => state === "stopping";
  const isRunning = (): boolean => state === "running" || isStopping();
  const bought = (): number => Object.values(states).reduce((sum, held) => sum + held.bought.length, 0);
  const toBuy = lanes.length * order.payments;
  const leave = world.log.watch((event) => {
    for (const { tally } of Object.values(states)) tally.note(event);
  });
  const view = readSometimes(() =>
    viewOf(world, order, states, {
      state,
      ...(error === undefined ? {} : { error }),
      ...(current === undefined || !isRunning() ? {} : { lane: current }),
      progress: { bought: bought(), of: toBuy, tookMs: Math.round((endedMs ?? performance.now()) - beganMs) },
    }),
  );
  const end = (as: StormView["state"]): void => {
    state = as;
    endedMs = performance.now();
    view.forget();
  };
  const run = async (): Promise<void> => {
    try {
      await blowOverBoth();
    } finally {
      await setBankMode(world, "dedupes");
    }
  };
  const blowOverBoth = async (): Promise<void> => {
    for (const lane of lanes) {
      if (isStopping()) return;
      current = lane;
      const held = await readLane(world, lane, name);
      states[lane] = held;
      await blowOver(world, held, { plan, name, concurrency: order.concurrency, isStopping });
    }
  };
  const ended = setBankMode(world, order.bankMode)
    .then(run)
    .then(
      () => end(bought() === toBuy ? "done" : "stopped"),
      (thrown: unknown) => {
        error = (thrown as Error).message;
        end("failed");
      },
    );

  return {
    get isRunning() {
      return isRunning();
    },
    ended,
    get grown() {
      const held = states.protected;
      return held === undefined ? undefined : grownBetween(held.first, held.last);
    },
    stop() {
      if (state === "running") state = "stopping";
      view.forget();
    },
    leave,
    view: () => view.read(),
  };
}

type States = Readonly<Partial<Record<LaneName, LaneState>>>;
type Now = Pick<StormView, "state" | "error" | "lane" | "progress">;

/** The buyers first, then the ledger: whoever has bought by then is in it, and nobody seems not to be charged. */
async function viewOf(world: World, order: StormOrder, states: States, now: Now): Promise<StormView> {
  const known = Object.entries(states).map(([lane, held]): readonly [string, LaneState] => [
    lane,
    { ...held, bought: [...held.bought] },
  ]);
  const charges = await world.charges();
  const byLane = <Told>(told: (held: LaneState) => Told): Partial<Record<LaneName, Told>> =>
    Object.fromEntries(known.map(([lane, held]) => [lane, told(held)]));
  return {
    order,
    ...now,
    lanes: byLane((held) => countsOf(world, held, charges)),
    slices: byLane(({ tally }) => tally.slices.list),
    sliceMs: byLane(({ tally }) => tally.slices.sliceMs),
    totals: byLane(({ tally }) => tally.slices.totals),
    histogram: histogramOf(byLane((held) => held.bought)),
  };
}

/** Reads at most once in a while, for all who ask meanwhile. */
function readSometimes<Read>(read: () => Promise<Read>): { read(): Promise<Read>; forget(): void } {
  let last: { readonly atMs: number; readonly answer: Promise<Read> } | undefined;
  return {
    read() {
      if (last === undefined || performance.now() - last.atMs > VIEW_MS) {
        const answer = read();
        last = { atMs: performance.now(), answer };
        answer.catch(() => {
          last = undefined;
        });
      }
      return last.answer;
    },
    forget() {
      last = undefined;
    },
  };
}
