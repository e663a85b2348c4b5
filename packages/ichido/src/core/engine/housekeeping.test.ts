import { describe, expect, it } from "vitest";
import type { IchidoEvent } from "../contract/events.ts";
import type { SweepRequest, SweepResult, TickRequest } from "../contract/store.ts";
import { fakeClock } from "../../testing/clock.ts";
import { createHousekeeping } from "./housekeeping.ts";

interface World {
  readonly sweepMs?: number | "off";
  readonly retentionMs?: number;
  readonly tick?: (request: TickRequest) => Promise<{ readonly trusted: boolean }>;
  readonly sweep?: (turn: number) => SweepResult;
}

/** Times of ticks and sweeps, as the store sees them. */
function setUp(world: World = {}) {
  const clock = fakeClock();
  const environment = { ...clock.environment, randomBytes: (length: number) => new Uint8Array(length).fill(128, 0, 1) };
  const events: IchidoEvent[] = [];
  const ticks: [atMs: number, intervalMs: number][] = [];
  const sweeps: [atMs: number, request: SweepRequest][] = [];
  const housekeeping = createHousekeeping({
    calls: {
      async tick(request) {
        ticks.push([environment.monotonicMs(), request.intervalMs]);
        return (await world.tick?.(request)) ?? { trusted: true };
      },
      async sweep(request) {
        sweeps.push([environment.monotonicMs(), request]);
        return world.sweep?.(sweeps.length) ?? { deleted: 0, more: false, guarded: false };
      },
    },
    environment,
    sweepMs: world.sweepMs ?? 10_000,
    retentionMs: world.retentionMs ?? 86_400_000,
    emit: (event) => void events.push(event),
  });
  return { clock, events, ticks, sweeps, housekeeping };
}

describe("ticks", () => {
  it("come a minute apart where retention is long, and four in a short one", async () => {
    const day = setUp();
    await day.housekeeping.begin();
    await day.clock.advance(120_000);
    expect(day.ticks).toEqual([
      [0, 60_000],
      [60_000, 60_000],
      [120_000, 60_000],
    ]);
    const short = setUp({ retentionMs: 1_001 });
    await short.housekeeping.begin();
    await short.clock.advance(500);
    expect(short.ticks).toEqual([
      [0, 250],
      [250, 250],
      [500, 250],
    ]);
    const shortest = setUp({ retentionMs: 1 });
    await shortest.housekeeping.begin();
    expect(shortest.ticks).toEqual([[0, 1]]);
  });

  it("come closer together for a route with a shorter retention, at once where they have begun", async () => {
    const { housekeeping, clock, ticks } = setUp();
    housekeeping.tickOftenEnoughFor(40_000);
    expect(ticks, "nothing before the first use").toEqual([]);
    await housekeeping.begin();
    await clock.advance(5_000);
    housekeeping.tickOftenEnoughFor(40_000);
    housekeeping.tickOftenEnoughFor(80_000);
    expect(ticks).toEqual([[0, 10_000]]);
    housekeeping.tickOftenEnoughFor(8_000);
    await clock.advance(4_000);
    expect(ticks).toEqual([
      [0, 10_000],
      [5_000, 2_000],
      [7_000, 2_000],
      [9_000, 2_000],
    ]);
  });

  it("come again after a second where one failed, or sooner where they are closer; begin rejects", async () => {
    let isDown = true;
    const tick = async (): Promise<{ trusted: boolean }> => {
      if (isDown) throw new Error("down");
      return { trusted: true };
    };
    const { housekeeping, clock, ticks } = setUp({ tick });
    await expect(housekeeping.begin()).rejects.toThrow("down");
    expect(housekeeping.clockTrusted).toBe(false);
    await clock.advance(1_000);
    isDown = false;
    await clock.advance(1_000);
    expect(ticks.map(([atMs]) => atMs)).toEqual([0, 1_000, 2_000]);
    expect(housekeeping.clockTrusted).toBe(true);
    isDown = true;
    await clock.advance(60_000);
    expect(housekeeping.clockTrusted).toBe(false);
    const close = setUp({ retentionMs: 400, tick: () => Promise.reject(new Error("down")) });
    await expect(close.housekeeping.begin()).rejects.toThrow("down");
    await close.clock.advance(200);
    expect(close.ticks.map(([atMs]) => atMs)).toEqual([0, 100, 200]);
  });

  it("say whether the store's clock is trusted", async () => {
    let trusted = false;
    const { housekeeping, clock } = setUp({ tick: async () => ({ trusted }) });
    expect(housekeeping.clockTrusted).toBe(false);
    await housekeeping.begin();
    expect(housekeeping.clockTrusted).toBe(false);
    trusted = true;
    await clock.advance(60_000);
    expect(housekeeping.clockTrusted).toBe(true);
  });

  it("do not overlap, and end with stop", async () => {
    const answers: PromiseWithResolvers<{ trusted: boolean }>[] = [];
    const tick = (): Promise<{ trusted: boolean }> => {
      answers.push(Promise.withResolvers());
      return answers[answers.length - 1]!.promise;
    };
    const { housekeeping, clock, ticks } = setUp({ tick });
    void housekeeping.begin();
    await housekeeping.begin();
    await clock.advance(60_000);
    expect(ticks).toHaveLength(1);
    answers[0]?.resolve({ trusted: true });
    await clock.advance(60_000);
    expect(ticks).toHaveLength(2);
    housekeeping.stop();
    answers[1]?.resolve({ trusted: true });
    await clock.advance(600_000);
    expect(ticks, "the one under way arms none").toHaveLength(2);
    expect(clock.pending).toBe(0);
    await housekeeping.begin();
    expect(ticks).toHaveLength(2);
  });
});

describe("sweeps", () => {
  it("come by themselves from the first use on, at a jittered rate, also after one that failed", async () => {
    const { housekeeping, clock, sweeps, events } = setUp({
      sweep: (turn) => {
        if (turn === 1) throw new Error("down");
        return { deleted: turn, more: false, guarded: turn === 2 };
      },
    });
    await clock.advance(60_000);
    expect(sweeps).toEqual([]);
    await housekeeping.begin();
    await housekeeping.begin();
    // The random bytes draw a half: 0.9 + 0.2 × 0.5.
    await clock.advance(9_999);
    expect(sweeps).toEqual([]);
    await clock.advance(1);
    expect(sweeps.map(([, request]) => request)).toEqual([{ limit: 1_000, budgetMs: 250 }]);
    expect(events).toEqual([]);
    await clock.advance(10_000);
    expect(events).toEqual([{ type: "sweep", deleted: 2, guarded: true }]);
    await clock.advance(10_000);
    expect(events.at(-1)).toEqual({ type: "sweep", deleted: 3, guarded: false });
    housekeeping.stop();
    await clock.advance(60_000);
    expect(sweeps).toHaveLength(3);
  });

  it("do not come where they are off, but on demand", async () => {
    const { housekeeping, clock, sweeps } = setUp({ sweepMs: "off" });
    await housekeeping.begin();
    await clock.advance(86_400_000);
    expect(sweeps).toEqual([]);
    expect(await housekeeping.sweep()).toEqual({ deleted: 0, more: false, guarded: false });
    expect(sweeps).toHaveLength(1);
  });

  it("go on batch by batch while there is more, and tell the sum", async () => {
    const { housekeeping, sweeps, events } = setUp({
      sweep: (turn) => ({ deleted: 1_000, more: turn < 3, guarded: false }),
    });
    expect(await housekeeping.sweep()).toEqual({ deleted: 3_000, more: false, guarded: false });
    expect(sweeps).toHaveLength(3);
    expect(events).toEqual([{ type: "sweep", deleted: 3_000, guarded: false }]);
  });

  it.each<[string, SweepResult]>([
    ["the clock is not trusted", { deleted: 1, more: true, guarded: true }],
    ["another process sweeps", { deleted: 1, more: true, guarded: false, busy: true }],
  ])("end where %s", async (_, result) => {
    const { housekeeping, sweeps } = setUp({ sweep: () => result });
    expect(await housekeeping.sweep()).toEqual(result);
    expect(sweeps).toHaveLength(1);
  });

  it("are bounded, and end with stop", async () => {
    const endless = setUp({ sweep: () => ({ deleted: 1, more: true, guarded: false }) });
    expect(await endless.housekeeping.sweep()).toMatchObject({ deleted: 1_000, more: true });
    const stopping = setUp({
      sweep: (turn) => {
        if (turn === 2) stopping.housekeeping.stop();
        return { deleted: 1, more: true, guarded: false };
      },
    });
    expect(await stopping.housekeeping.sweep()).toMatchObject({ deleted: 2, more: true });
    expect(await stopping.housekeeping.sweep()).toEqual({ deleted: 0, more: false, guarded: false });
  });
});
