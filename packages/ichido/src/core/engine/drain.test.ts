import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { memoryStore } from "../../stores/memory/index.ts";
import { createIchido } from "./create-ichido.ts";
import type { DrainPart } from "./drain.ts";
import type { IchidoEvent } from "../contract/events.ts";

function setUp() {
  const events: IchidoEvent[] = [];
  const store = memoryStore();
  const ichido = createIchido({
    store,
    scope: () => ({ principal: "p" }),
    onUnknown: "rerun",
    onEvent: (event) => void events.push(event),
  });
  const job = (key: string, fn: () => unknown) =>
    ichido.run({ operation: "job", scope: { principal: "p" }, key }, async (context) => {
      await fn();
      return context.signal.aborted;
    });
  return { ichido, store, job, events };
}

describe("drain", () => {
  it("turns readiness, stops what brings work in, lets handlers finish, and stops what sends last", async () => {
    const { ichido, job, events } = setUp();
    const order: string[] = [];
    const gate = Promise.withResolvers<void>();
    const running = job("a", () => gate.promise).then(() => order.push("handler"));
    await sleep(5);
    const consumer: DrainPart = {
      async stop() {
        order.push(`consumer, ready: ${(await ichido.health()).ok}`);
        await job("b", () => order.push("its last message"));
        setTimeout(gate.resolve, 20);
      },
    };
    const relay: DrainPart = { stop: async () => void order.push("relay") };
    expect((await ichido.health()).ok).toBe(true);
    const report = await ichido.drain({ deadlineMs: 10_000, parts: { consumer }, last: { relay } });
    await running;
    expect(order).toEqual(["consumer, ready: false", "its last message", "handler", "relay"]);
    expect(report).toEqual({
      clean: true,
      tookMs: expect.any(Number),
      handlers: [],
      transactions: 0,
      parts: [
        { name: "consumer", state: "ended", inFlight: 0 },
        { name: "relay", state: "ended", inFlight: 0 },
      ],
    });
    expect(events.at(-1)).toMatchObject({ type: "drained", clean: true, handlers: 0 });
    await expect(job("c", () => 1)).rejects.toMatchObject({ code: "engine-closed" });
    expect(await ichido.drain(), "a second call gets the report of the first").toBe(report);
    expect(await ichido.health()).toMatchObject({ ok: false, draining: true, closing: true });
  });

  it("still takes work while it is announced", async () => {
    const { ichido, job } = setUp();
    const drained = ichido.drain({ deadlineMs: 5_000, announceMs: 100 });
    expect(await ichido.health()).toMatchObject({ ok: false, draining: true, closing: false });
    expect(await job("a", () => 1)).toEqual({ value: false, replayed: false });
    expect((await drained).clean).toBe(true);
    expect((await drained).tookMs).toBeGreaterThanOrEqual(95);
  });

  it("a handler that outlasts the deadline is reported, told to stop, and its record left to onUnknown", async () => {
    const { ichido, store, job, events } = setUp();
    const gate = Promise.withResolvers<void>();
    const outlasting = job("a", () => gate.promise);
    outlasting.catch(() => undefined);
    await sleep(5);
    const beganMs = performance.now();
    const report = await ichido.drain({ deadlineMs: 500 });
    expect(performance.now() - beganMs, "no later than the deadline, but for a busy machine").toBeLessThan(1_500);
    expect(report).toMatchObject({ clean: false, parts: [] });
    expect(report.handlers).toEqual([
      { operation: "job", keyHash: expect.stringMatching(/^[0-9a-f]{8}$/), attempt: 1, runningMs: expect.any(Number) },
    ]);
    const { records } = await store.list({ limit: 10 });
    expect(
      records.map(({ state }) => state),
      "another process need not wait for its lease",
    ).toEqual(["unknown"]);
    gate.resolve();
    expect(await outlasting, "its signal was aborted").toEqual({ value: true, replayed: false });
    expect(events.findLast(({ type }) => type === "drained")).toMatchObject({ clean: false, handlers: 1 });
  });

  it("reports parts that hang, fail, or have to cut what they have in their hands", async () => {
    const { ichido } = setUp();
    let inFlight = 3;
    const report = await ichido.drain({
      deadlineMs: 400,
      parts: {
        hangs: { stop: () => new Promise(() => undefined), health: () => ({ inFlight: 2 }) },
        fails: { stop: () => Promise.reject(new Error("no")) },
        throws: {
          stop: () => {
            throw new Error("at once");
          },
        },
        cuts: {
          async stop({ drainMs }) {
            await sleep(drainMs);
            inFlight = 0;
          },
          health: () => ({ inFlight }),
        },
        ends: { stop: async () => undefined },
      },
    });
    expect(report.clean).toBe(false);
    expect(report.parts).toEqual([
      { name: "hangs", state: "late", inFlight: 2 },
      { name: "fails", state: "failed", inFlight: 0, error: new Error("no") },
      { name: "throws", state: "failed", inFlight: 0, error: new Error("at once") },
      { name: "cuts", state: "late", inFlight: 3 },
      { name: "ends", state: "ended", inFlight: 0 },
    ]);
  });

  it("refuses what is no part, before anything is stopped", async () => {
    const { ichido, job } = setUp();
    await expect(ichido.drain({ parts: { server: {} as never } })).rejects.toThrow(/parts\.server.*fromServer/);
    await expect(ichido.drain({ deadline: 5 } as never)).rejects.toThrow(/deadlineMs/);
    await expect(ichido.drain({ deadlineMs: 100, announceMs: 101 })).rejects.toThrow(/announceMs/);
    expect((await ichido.health()).ok).toBe(true);
    await job("a", () => 1);
    await ichido.close();
  });

  it("stops everything although a part cannot tell what it has", async () => {
    const { ichido } = setUp();
    const part: DrainPart = {
      stop: () => Promise.reject(new Error("no")),
      health: () => {
        throw new Error("no health");
      },
    };
    const report = await ichido.drain({ deadlineMs: 1_000, parts: { part } });
    expect(report).toMatchObject({ clean: false, parts: [{ name: "part", state: "failed", inFlight: 0 }] });
    expect(await ichido.health()).toMatchObject({ closing: true });
  });

  it("reports a handler that was handed over, although the attempt log hangs", async () => {
    const { ichido, store, job } = setUp();
    store.log = () => new Promise<never>(() => {});
    await job("done", () => 1);
    void job("hangs", () => new Promise(() => {})).catch(() => undefined);
    await sleep(5);
    const report = await ichido.drain({ deadlineMs: 500 });
    expect(report).toMatchObject({ clean: false, handlers: [{ operation: "job" }] });
  });
});
