import { describe, expect, it } from "vitest";
import { answer, bed, executionOf, problemIn, type Bed } from "../../../../../test/support/engine-bed.ts";
import { fakeClock } from "../../testing/clock.ts";
import { sampleFingerprint, sampleIdentity, sampleResponse } from "../../testing/store-suite/samples.ts";
import { createReplayCache } from "./replay-cache.ts";

describe("the replay cache", () => {
  it("serves a completed answer without a round trip, from the second request on", async () => {
    const { ask, serve, store, outcomes } = bed({ replayCache: {} });
    await serve();
    const before = store.calls.filter((verb) => verb === "claim").length;
    for (let time = 0; time < 3; time += 1) expect((await ask()).kind).toBe("replay");
    expect(store.calls.filter((verb) => verb === "claim")).toHaveLength(before);
    expect(outcomes()).toEqual(["executed", "replayed", "replayed", "replayed"]);
  });

  it("F-01 never answers other content", async () => {
    const { ask, serve } = bed({ replayCache: {} });
    await serve();
    expect(problemIn(await ask({ body: { amount: 999 } }))).toMatchObject({ code: "idempotency-key-reused" });
    expect((await ask({ body: { amount: 100 } })).kind).toBe("replay");
  });

  it("T-01 never answers past the retention", async () => {
    const { ask, serve, clock } = bed({ replayCache: {}, retentionMs: 4_000 });
    await clock.advance(4_000);
    await serve();
    await clock.advance(3_900);
    expect((await ask()).kind).toBe("replay");
    await clock.advance(200);
    expect((await ask()).kind).toBe("execute");
  });

  it("T-01 never answers past the retention, also where the store's word was long under way", async () => {
    const { ask, serve, clock, store, ichido } = bed({ replayCache: {}, retentionMs: 10_000 });
    await clock.advance(10_000);
    await serve();
    await ichido.sweep();
    store.break("claim", "late", 1);
    const asked = ask();
    await clock.advance(4_000);
    store.arrive();
    expect((await asked).kind).toBe("replay");
    await clock.advance(6_100);
    expect((await ask()).kind).toBe("execute");
  });

  it.each<[string, (all: Bed) => Promise<void>]>([
    ["was released", ({ serve }) => serve({}, { status: 429 })],
    [
      "was taken over",
      async (all) => {
        executionOf(await all.ask());
        all.store.break("renew", "fail");
      },
    ],
  ])("T-01 never answers past the retention of a record that %s, completed late in it", async (_, leave) => {
    const all = bed({ replayCache: {}, retentionMs: 10_000, leaseMs: 1_000 });
    const { clock, ask } = all;
    await clock.advance(10_000);
    const bornMs = clock.nowMs();
    await leave(all);
    await clock.advance(bornMs + 9_000 - clock.nowMs());
    const second = executionOf(await ask());
    expect(second.context.attempt).toBe(2);
    await answer(second);
    await clock.advance(900);
    expect((await ask()).kind).toBe("replay");
    await clock.advance(200);
    expect(executionOf(await ask()).context.attempt).toBe(1);
  });

  it("keeps nothing that was released, and asks the store again after a sweep, once", async () => {
    const { ask, store, ichido } = bed({ replayCache: {} });
    await answer(executionOf(await ask()), { status: 429 });
    await answer(executionOf(await ask()));
    await ichido.sweep();
    const before = store.calls.filter((verb) => verb === "claim").length;
    for (let time = 0; time < 3; time += 1) expect((await ask()).kind).toBe("replay");
    expect(store.calls.filter((verb) => verb === "claim")).toHaveLength(before + 1);
  });

  it("T-01 never answers past the retention of a record whose answer was found by verify", async () => {
    const found = { verdict: "found", response: { status: 201, body: { id: 7 } } } as const;
    const all = bed({ replayCache: {}, retentionMs: 10_000, leaseMs: 1_000, onUnknown: { verify: () => found } });
    executionOf(await all.ask());
    all.store.break("renew", "fail");
    await all.clock.advance(2_000);
    expect((await all.ask()).kind).toBe("replay");
    await all.clock.advance(30_000);
    expect((await all.ask()).kind).toBe("execute");
  });

  it("is bounded in records and in bytes; the one not asked for longest goes first", () => {
    const { environment } = fakeClock();
    const cache = createReplayCache({ environment, recordsMax: 2, bytesMax: 10_000 });
    const fingerprint = sampleFingerprint();
    const ask = (key: string): Parameters<typeof cache.get>[0] => ({
      identity: sampleIdentity(key),
      fingerprint,
      startedMs: environment.monotonicMs(),
    });
    const put = (key: string, size = 10, livesMs = 1_000): void =>
      cache.put(ask(key), sampleResponse({ body: new Uint8Array(size) }), livesMs);
    put("a");
    put("b");
    cache.get(ask("a"));
    put("c");
    expect(["a", "b", "c"].map((key) => cache.get(ask(key)) !== undefined)).toEqual([true, false, true]);
    put("huge", 20_000);
    expect(cache.get(ask("huge"))).toBeUndefined();
    put("big", 9_300);
    expect(cache.size).toBe(1);
    cache.clear();
    expect(cache.size).toBe(0);
    put("dead", 10, 0);
    expect(cache.size).toBe(0);
  });
});
