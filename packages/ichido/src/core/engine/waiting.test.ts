import { describe, expect, it } from "vitest";
import { fakeClock } from "../../testing/clock.ts";
import { sampleIdentity } from "../../testing/store-suite/samples.ts";
import { limits } from "../contract/defaults.ts";
import type { ClaimResult, Store } from "../contract/store.ts";
import { stillProcessing } from "../record-machine/claim.ts";
import { createWaiting, type WaitRequest } from "./waiting.ts";

const identity = sampleIdentity("a");
const busy: ClaimResult = { outcome: "processing", leaseLeftMs: 500, attempts: 3 };
const mismatch: ClaimResult = { outcome: "mismatch" };
const granted: ClaimResult = {
  outcome: "granted",
  fence: 1,
  attempt: 2,
  origin: "lapsed",
  stepsStarted: 0,
  canonical: new Uint8Array(32),
  createdAtMs: 0,
  expiresAtMs: 9,
};

function setUp(watch?: Store["watch"], bounds: { readonly waitersMax?: number; readonly isOver?: () => boolean } = {}) {
  const clock = fakeClock();
  const claims: number[] = [];
  const waiting = createWaiting({
    environment: clock.environment,
    store: (watch === undefined ? {} : { watch }) as Store,
    waitersMax: bounds.waitersMax ?? 1_000,
    isOver: bounds.isOver ?? (() => false),
  });
  const wait = (answer: () => ClaimResult | Promise<ClaimResult>, given: Partial<WaitRequest> = {}) =>
    waiting.wait({
      id: "a",
      content: "c",
      identity,
      waitMs: 10_000,
      claim: async () => {
        claims.push(clock.environment.monotonicMs());
        return answer();
      },
      local: () => undefined,
      ...given,
    });
  return { clock, claims, waiting, wait };
}

const gaps = (times: readonly number[]): number[] => times.map((ms, at) => ms - (times[at - 1] ?? 0));

describe("a duplicate that waits", () => {
  it("asks ever more rarely, twice a second at the least, until its time is up", async () => {
    const { clock, claims, wait, waiting } = setUp();
    const told = wait(() => busy);
    expect(waiting.size).toBe(1);
    await clock.advance(11_000);
    expect(await told).toBe(busy);
    expect(waiting.size).toBe(0);
    for (const [at, pauseMs] of gaps(claims).entries()) {
      const meant = Math.min(20 * 2 ** at, 500);
      expect(pauseMs, `question ${at}`).toBeGreaterThanOrEqual(meant / 2);
      expect(pauseMs, `question ${at}`).toBeLessThanOrEqual(meant * 1.5);
    }
    expect(claims.length).toBeGreaterThan(15);
    expect(claims.at(-1)).toBeLessThan(10_800);
  });

  it("gets the answer as soon as there is one", async () => {
    const { clock, claims, wait } = setUp();
    const told = wait(() => (claims.length < 3 ? busy : mismatch));
    await clock.advance(1_000);
    expect(await told).toBe(mismatch);
    expect(claims).toHaveLength(3);
  });

  it("asks at once when the attempt in its own process ends, without a watch or a pause", async () => {
    const { clock, claims, wait } = setUp(() => expect.fail("nobody has to be watched"));
    const local = Promise.withResolvers<void>();
    const told = wait(() => mismatch, { local: () => local.promise });
    await clock.advance(300);
    expect(claims).toEqual([]);
    local.resolve();
    await clock.advance(0);
    expect([await told, claims]).toEqual([mismatch, [300]]);
  });

  it("asks after half a second although the attempt in its own process goes on, or ends with an error", async () => {
    const { clock, claims, wait } = setUp();
    const told = wait(() => mismatch, { local: () => new Promise(() => undefined) });
    await clock.advance(499);
    expect(claims).toEqual([]);
    await clock.advance(1);
    expect([await told, claims]).toEqual([mismatch, [500]]);
    const failing = wait(() => mismatch, { local: () => Promise.reject(new Error("boom")) });
    expect(await failing).toBe(mismatch);
  });

  it("is woken by the store, and pauses where the store cannot watch", async () => {
    const news = Promise.withResolvers<void>();
    const watched: unknown[] = [];
    const { clock, claims, wait } = setUp((of, timeoutMs) => {
      watched.push(of, timeoutMs <= 30 && timeoutMs >= 10);
      return news.promise;
    });
    const told = wait(() => mismatch);
    await clock.advance(15);
    expect([watched, claims]).toEqual([[identity, true], []]);
    news.resolve();
    await clock.advance(0);
    expect([await told, claims]).toEqual([mismatch, [15]]);

    const broken = setUp(() => Promise.reject(new Error("no watch")));
    const pausing = broken.wait(() => mismatch);
    await broken.clock.advance(9);
    expect(broken.claims).toEqual([]);
    await broken.clock.advance(30);
    expect(await pausing).toBe(mismatch);
  });

  it("waits no longer than its time for a watch that never ends", async () => {
    const { clock, claims, wait } = setUp(() => new Promise(() => undefined));
    const told = wait(() => busy);
    await clock.advance(12_000);
    expect(await told).toBe(busy);
    expect(claims.length).toBeGreaterThan(3);
  });

  it("stops with the last answer when waiting is over for all", async () => {
    let isOver = false;
    const { clock, claims, wait } = setUp(undefined, { isOver: () => isOver });
    const told = wait(() => busy);
    await clock.advance(200);
    isOver = true;
    const asked = claims.length;
    await clock.advance(1_000);
    expect(await told).toBe(busy);
    expect(claims).toHaveLength(asked + 1);
  });
});

describe("duplicates that wait together", () => {
  it("share one question, and its answer", async () => {
    const { clock, claims, wait } = setUp();
    const told = [1, 2, 3].map(() => wait(() => mismatch));
    await clock.advance(100);
    expect(await Promise.all(told)).toEqual([mismatch, mismatch, mismatch]);
    expect(claims).toHaveLength(1);
  });

  it("share no answer with another content", async () => {
    const { clock, claims, wait } = setUp();
    const told = ["c", "d"].map((content) => wait(() => mismatch, { content }));
    await clock.advance(100);
    await Promise.all(told);
    expect(claims).toHaveLength(2);
  });

  it("a grant is for the one that asked; the others go on waiting", async () => {
    const { clock, claims, wait } = setUp();
    const told = [1, 2].map(() => wait(() => (claims.length === 1 ? granted : mismatch)));
    await clock.advance(1_000);
    expect(await Promise.all(told)).toEqual([granted, mismatch]);
    expect(claims).toHaveLength(2);
  });

  it("one whose time is up before the question is answered is told that it is still at work", async () => {
    const { clock, wait } = setUp();
    const asking = wait(() => new Promise(() => undefined));
    void asking;
    const told = wait(() => mismatch, { waitMs: 50 });
    await clock.advance(49);
    let isTold = false;
    void told.then(() => (isTold = true));
    await clock.advance(0);
    expect(isTold).toBe(false);
    await clock.advance(1);
    expect(await told).toBe(stillProcessing);
  });

  it("go on together when one of them has gone: who comes then asks no question of its own", async () => {
    const { clock, claims, wait } = setUp();
    const long = wait(() => (clock.environment.monotonicMs() < 3_000 ? busy : mismatch));
    const brief = wait(() => busy, { waitMs: 1_000 });
    await clock.advance(1_500);
    expect((await brief) as ClaimResult).toMatchObject({ outcome: "processing" });
    const before = claims.length;
    const late = wait(() => expect.unreachable());
    await clock.advance(200);
    expect(claims.length - before).toBeLessThanOrEqual(1);
    await clock.advance(3_000);
    expect(await Promise.all([long, late])).toEqual([mismatch, mismatch]);
  });

  it("begin anew with short pauses once nobody waits any more", async () => {
    const { clock, claims, wait } = setUp();
    const first = wait(() => busy, { waitMs: 3_000 });
    await clock.advance(4_000);
    await first;
    const beganMs = clock.environment.monotonicMs();
    const second = wait(() => mismatch);
    await clock.advance(1_000);
    await second;
    expect((claims.at(-1) ?? 0) - beganMs).toBeLessThanOrEqual(30);
  });
});

describe("a crowd", () => {
  it("is refused past the bound of the process, and let in again when one has gone", async () => {
    const { clock, wait, waiting } = setUp(undefined, { waitersMax: 2 });
    const told = ["a", "b"].map((id) => wait(() => mismatch, { id }));
    expect(await wait(() => mismatch, { id: "c" })).toBe("crowded");
    await clock.advance(100);
    await Promise.all(told);
    expect(waiting.size).toBe(0);
    const again = wait(() => mismatch, { id: "c" });
    await clock.advance(100);
    expect(await again).toBe(mismatch);
  });

  it("is refused past the bound of its key, whatever it asks; other keys are not", async () => {
    const { clock, wait } = setUp();
    const told = Array.from({ length: limits.waitersPerKeyMax }, (_, at) =>
      wait(() => mismatch, { content: `c${at}` }),
    );
    expect(await wait(() => mismatch, { content: "one more" })).toBe("crowded");
    const other = wait(() => mismatch, { id: "b" });
    await clock.advance(100);
    expect(await other).toBe(mismatch);
    await Promise.all(told);
  });
});
