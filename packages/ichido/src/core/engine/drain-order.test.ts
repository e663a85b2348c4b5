import { describe, expect, it } from "vitest";
import { fakeClock, type FakeClock } from "../../testing/clock.ts";
import type { IchidoEvent } from "../contract/events.ts";
import { drain, resolveDrain, type DrainOptions, type DrainPart, type DrainParts, type EngineLeft } from "./drain.ts";

const nothing: EngineLeft = { handlers: [], transactions: 0 };
const handler = { operation: "job", keyHash: "01234567", attempt: 1, runningMs: 9 };
const hangs = (): Promise<never> => new Promise(() => undefined);

/** The end of a process whose engine closes as `engine` says, on a clock that has run for a while. */
async function begin(options: DrainOptions, engine: Partial<DrainParts> = {}) {
  const clock = fakeClock();
  await clock.advance(5_000);
  const events: IchidoEvent[] = [];
  const closed: unknown[] = [];
  const drained = drain(
    {
      environment: clock.environment,
      emit: (event) => void events.push(event),
      announce: () => undefined,
      closeEngine: async (bounds) => {
        closed.push({ atMs: clock.environment.monotonicMs() - 5_000, ...bounds });
        return nothing;
      },
      leftNow: () => nothing,
      ...engine,
    },
    resolveDrain(options),
  );
  return { clock, drained, events, closed };
}

const pausing = (clock: () => FakeClock, ms: number): Promise<void> =>
  new Promise((resolve) => void clock().environment.after(ms, resolve));

describe("the deadline of a drain", () => {
  it.each([
    [20_000, 17_000, 3_000],
    [1_000, 800, 200],
    [11, 8, 3],
  ])("of %i ms: handlers have %i, handing over has %i", async (deadlineMs, closeMs, handOverMs) => {
    const { drained, closed } = await begin({ deadlineMs });
    await drained;
    expect(closed).toEqual([{ atMs: 0, closeMs, handOverMs }]);
  });

  it("is shared: a part that hangs leaves half of the handing over to the engine, and what is left to the last", async () => {
    const asked: number[] = [];
    const part: DrainPart = {
      stop: ({ drainMs }) => {
        asked.push(drainMs);
        return hangs();
      },
    };
    const { clock, drained, closed } = await begin({ deadlineMs: 1_000, parts: { part }, last: { relay: part } });
    await clock.advance(899);
    expect([asked, closed]).toEqual([[800], []]);
    await clock.advance(1);
    expect(closed).toEqual([{ atMs: 900, closeMs: 0, handOverMs: 100 }]);
    expect(asked).toEqual([800, 50]);
    await clock.advance(100);
    expect(await drained).toMatchObject({ clean: false, tookMs: 1_000 });
  });

  it("holds although the engine hangs, and what it would leave is told", async () => {
    const left = { handlers: [handler], transactions: 2 };
    const { clock, drained, events } = await begin({ deadlineMs: 500 }, { closeEngine: hangs, leftNow: () => left });
    await clock.advance(500);
    expect(await drained).toEqual({ clean: false, tookMs: 500, ...left, parts: [] });
    expect(events).toEqual([{ type: "drained", clean: false, tookMs: 500, handlers: 1, transactions: 2 }]);
  });

  it("announces before anything stops, for as long as was asked, and at once where it was not", async () => {
    let stopped = 0;
    const part: DrainPart = { stop: async () => void (stopped += 1) };
    const { clock, drained, closed } = await begin({ deadlineMs: 1_000, announceMs: 300, parts: { part } });
    await clock.advance(299);
    expect(stopped).toBe(0);
    await clock.advance(1);
    expect(stopped).toBe(1);
    await drained;
    expect(closed).toEqual([{ atMs: 300, closeMs: 500, handOverMs: 200 }]);
    await begin({ parts: { part } });
    expect(stopped, "no timer had to fire").toBe(2);
  });
});

describe("a drain is clean", () => {
  it.each([
    [nothing, true],
    [{ handlers: [handler], transactions: 0 }, false],
    [{ handlers: [], transactions: 1 }, false],
    [{ handlers: [handler], transactions: 1 }, false],
  ])("with %j left: %s", async (left, clean) => {
    const { drained, clock } = await begin({}, { closeEngine: async () => left });
    expect(await drained).toMatchObject({ clean, ...left, tookMs: 0 });
    expect(clock.pending, "no timer stays behind").toBe(0);
  });
});

describe("what a part had in its hands", () => {
  /** Stops after `ms`, with or without an error. */
  async function told(ms: number, given: { health?: DrainPart["health"]; error?: Error }) {
    let clock: FakeClock | undefined;
    const part: DrainPart = {
      async stop() {
        await pausing(() => clock ?? expect.fail(), ms);
        if (given.error !== undefined) throw given.error;
      },
      ...(given.health && { health: given.health }),
    };
    // The first microtasks of `stop` run once the clock is there.
    const begun = await begin({ deadlineMs: 1_000, announceMs: 1, parts: { part } });
    ({ clock } = begun);
    await clock.advance(1_000);
    expect(clock.pending).toBe(0);
    return (await begun.drained).parts[0];
  }

  it("is asked shortly before its time is up", async () => {
    let asked = 0;
    const health = () => ({ inFlight: (asked += 1) });
    expect(await told(100, { health })).toEqual({ name: "part", state: "ended", inFlight: 0 });
    expect(asked).toBe(0);
    expect(await told(780, { health })).toEqual({ name: "part", state: "late", inFlight: 1 });
    expect(asked).toBe(1);
  });

  it("is nothing, and it ended, where it had nothing left when it was asked", async () => {
    expect(await told(780, { health: () => ({ inFlight: 0 }) })).toEqual({ name: "part", state: "ended", inFlight: 0 });
  });

  it("is not known without its health: it was late if it ended when its time was up", async () => {
    expect(await told(780, {})).toEqual({ name: "part", state: "late", inFlight: 0 });
    expect(await told(100, {})).toEqual({ name: "part", state: "ended", inFlight: 0 });
  });

  it("is asked when it fails, unless it was asked before", async () => {
    const error = new Error("no");
    let asked = 0;
    const health = () => ({ inFlight: 5 + (asked += 1) });
    expect(await told(100, { health, error })).toEqual({ name: "part", state: "failed", inFlight: 6, error });
    expect(await told(780, { health, error })).toEqual({ name: "part", state: "failed", inFlight: 7, error });
    expect(asked).toBe(2);
  });
});

it.each([undefined, null, 7, {}, { stop: true }])("refuses %j as a part", (part) => {
  expect(() => resolveDrain({ parts: { server: part as never } })).toThrow(/option parts\.server.*fromServer/);
  expect(() => resolveDrain({ last: { relay: part as never } })).toThrow(/option last\.relay/);
});
