import { describe, expect, it } from "vitest";
import type { LoggedEvent } from "../src/playground/contract.ts";
import { createSlices, SLICE_MS, SLICES_MAX, type Slices } from "../src/playground/storm-slices.ts";
import { createTally } from "../src/playground/storm-tally.ts";
import { laneStorm } from "../src/playground/storm-view.ts";

const BEGAN_MS = 1_000_000;

const answered = (afterMs: number, status = 201): LoggedEvent => ({
  seq: 1,
  who: "proxy",
  pid: 1,
  what: "answered",
  atMs: BEGAN_MS + afterMs,
  status,
});

function slicesOf(events: readonly LoggedEvent[]): Slices {
  const slices = createSlices(BEGAN_MS);
  for (const event of events) slices.note(event);
  return slices;
}

describe("the answers of a storm over time", () => {
  it("a half second in which nothing was answered is a zero, not a line from its neighbour to the next", () => {
    const { list } = slicesOf([answered(10), answered(20), answered(2.5 * SLICE_MS, 409)]);
    expect(list.map(({ atMs, executed, inFlight }) => [atMs, executed, inFlight])).toEqual([
      [0, 2, 0],
      [SLICE_MS, 0, 0],
      [2 * SLICE_MS, 0, 1],
    ]);
  });

  it("a storm that is over within a half second has one", () => {
    expect(slicesOf([answered(10)]).list).toHaveLength(1);
  });

  it("nothing has happened yet: there is nothing to draw", () => {
    expect(slicesOf([]).list).toEqual([]);
  });
});

describe("a storm that lasts", () => {
  it("has no more slices than before, each of them longer, and nothing is lost from the counts", () => {
    const HOUR_MS = 3_600_000;
    const every = Array.from({ length: 7_200 }, (_, at) => answered(at * 500, at % 2 === 0 ? 201 : 409));
    const { list, sliceMs, totals } = slicesOf(every);
    expect(list.length).toBeLessThanOrEqual(SLICES_MAX);
    expect(list.length * sliceMs).toBeGreaterThanOrEqual(HOUR_MS);
    expect(list.map(({ atMs }) => atMs)).toEqual(list.map((_, at) => at * sliceMs));
    const sumOf = (name: "executed" | "inFlight"): number => list.reduce((sum, slice) => sum + slice[name], 0);
    expect([sumOf("executed"), sumOf("inFlight")]).toEqual([3_600, 3_600]);
    expect(totals).toMatchObject({ executed: 3_600, inFlight: 3_600, failed: 0 });
  });

  it("counts its own lane and its own payments, not those of a storm whose name begins alike", () => {
    const tally = createTally("protected", "storm1", BEGAN_MS);
    const arrived: LoggedEvent = { ...answered(1), what: "arrived", lane: "protected", run: "storm1-7" };
    for (const event of [arrived, { ...arrived, run: "storm10-7" }, { ...arrived, lane: "unprotected" as const }]) {
      tally.note(event);
    }
    tally.note({ ...arrived, who: "api", what: "charge", reference: "ref-1" });
    const charge = { chargeId: "ch", amount: 1, currency: "EUR", at: "" };
    expect(tally.arrivals).toBe(1);
    expect([...tally.chargesOf([1, 1, 2].map((at) => ({ ...charge, reference: `ref-${at}` })))]).toEqual([
      ["storm1-7", 2],
    ]);
  });
});

describe("no payment of a storm was charged twice", () => {
  const boundOf = (payments: number): number | undefined => {
    const bought = Array.from({ length: payments }, (_, at) => ({ run: String(at), paid: true, tookMs: 1 }));
    const once = new Map(bought.map(({ run }) => [run, 1]));
    return laneStorm(bought, once, { restarts: 0, arrivals: 0, databaseDrops: 0, takenOver: new Set() })
      .zeroBoundPercent;
  };

  it("is told as the bound that so many allow, which is never more than all of them", () => {
    expect([1, 2, 24, 500].map(boundOf)).toEqual([100, 100, 12.5, 0.6]);
  });
});
