/** What the client makes of each answer, without a network: `test/client` has the same over sockets. */
import { getEventListeners } from "node:events";
import { describe, expect, it, vi } from "vitest";
import type { Attempt, Sent, Settlement } from "./attempt.ts";
import { deliver, type Delivery, type DeliveryParts } from "./delivery.ts";
import { resolveRetry } from "./client-options.ts";
import type { RetryOptions } from "./retry-policy.ts";

type Scripted = Response | Error | (() => Response | Error);

const json = { "content-type": "application/json" };
const replayed = { "idempotency-replayed": "true" };
const answer = (status: number, headers: Record<string, string> = {}, body = "{}"): Response =>
  new Response(status === 204 ? null : body, { status, headers: { ...json, ...headers } });
const problem = (status: number, members: object, headers: Record<string, string> = {}): Response =>
  answer(status, { "content-type": "application/problem+json", ...headers }, JSON.stringify(members));

interface World extends Partial<Omit<Delivery, "attempt" | "url" | "retry">> {
  readonly answers: readonly Scripted[];
  readonly sent?: Sent;
  readonly attempt?: Partial<Attempt>;
  readonly retry?: RetryOptions;
  readonly parts?: Partial<DeliveryParts>;
  readonly isGone?: boolean;
  readonly budget?: number;
}

/** Sends against a script. Time passes in pauses alone. */
function sending(world: World) {
  let nowMs = 1_000_000;
  const pauses: number[] = [];
  const settled: [Settlement, number | undefined][] = [];
  const marked: (string | undefined)[] = [];
  const told: { tries: number; pauseMs: number }[] = [];
  const calls: { url: string | Request; init: RequestInit }[] = [];
  let tokens = world.budget ?? 20;
  let refills = 0;
  const parts: DeliveryParts = {
    fetch: async (url, init) => {
      calls.push({ url: url as string, init: init ?? {} });
      const next = world.answers[Math.min(calls.length, world.answers.length) - 1];
      const made = typeof next === "function" ? next() : next;
      if (made instanceof Error || made === undefined) throw made ?? new Error("nothing scripted");
      return made.clone();
    },
    clock: {
      nowMs: () => nowMs,
      elapsedMs: () => nowMs,
      random: () => 1,
      sleep: async (ms) => {
        pauses.push(ms);
        nowMs += ms;
      },
    },
    attempts: {
      markSent: async (_attempt, content) => {
        marked.push(content);
        return world.sent ?? { sends: 1 };
      },
      settle: async (_attempt, outcome, sends) => {
        settled.push([outcome, sends]);
        return world.isGone ?? true;
      },
    },
    budget: {
      take: () => {
        tokens -= 1;
        return tokens >= 0;
      },
      refill: () => void (refills += 1),
    },
    retentionMs: 86_400_000,
    isAnswer: undefined,
    policy: async () => undefined,
    ...world.parts,
  };
  const { headers = new Headers(json), ...init } = world.init ?? {};
  const delivery: Delivery = {
    attempt: { name: "pay", key: "k-1", bornAtMs: 0, resumed: false, ...world.attempt },
    url: "https://api.example/payments",
    init: { method: "POST", headers: headers as Headers, ...init },
    content: world.content,
    retry: resolveRetry(world.retry),
    signal: world.signal,
    onRetry: "onRetry" in world ? world.onRetry : (each) => void told.push(each),
  };
  const result = deliver(parts, delivery);
  return { result, pauses, settled, marked, told, calls, refills: () => refills, tokens: () => tokens };
}

describe("an answer that is final", () => {
  it("is done: settled, told with the key and the tries, and the budget grows", async () => {
    const world = sending({ answers: [answer(201, {}, '{"id":7}')], content: "hash" });
    const result = await world.result;
    expect(result).toMatchObject({ kind: "done", replayed: false, key: "k-1", tries: 1, problem: undefined });
    expect(result.answer?.json()).toEqual({ id: 7 });
    expect(world.settled).toEqual([["done", undefined]]);
    expect(world.marked).toEqual(["hash"]);
    expect([world.refills(), world.pauses]).toEqual([1, []]);
    expect(world.calls).toMatchObject([{ url: "https://api.example/payments", init: { method: "POST" } }]);
  });

  it("is a replay by its marker, or where only its answer is gone", async () => {
    expect(await sending({ answers: [answer(201, replayed)] }).result).toMatchObject({ kind: "done", replayed: true });
    const gone = problem(409, { code: "response-not-stored", originalStatus: 201 });
    const world = sending({ answers: [gone] });
    expect(await world.result).toMatchObject({ kind: "done", replayed: true, problem: { originalStatus: 201 } });
    const declined = problem(409, { code: "response-not-stored", originalStatus: 402 });
    expect(await sending({ answers: [declined] }).result).toMatchObject({ kind: "declined", keyKept: false });
  });

  it("is declined at once where it is proven; the key is gone if the attempts say so", async () => {
    for (const isGone of [true, false]) {
      const world = sending({ answers: [answer(402, replayed)], isGone });
      expect(await world.result).toMatchObject({ kind: "declined", keyKept: !isGone, tries: 1, key: "k-1" });
      expect(world.settled).toEqual([["declined", undefined]]);
      expect(world.refills()).toBe(0);
    }
  });

  it("a refusal without proof is asked for once more, at no cost, and believed then", async () => {
    const world = sending({ answers: [answer(402)], budget: 0, retry: { triesMax: 1, backoffMs: 100 } });
    expect(await world.result).toMatchObject({ kind: "declined", keyKept: true, tries: 2 });
    expect(world.settled).toEqual([["refused", 1]]);
    expect(world.pauses).toEqual([100]);
    expect(world.told).toEqual([{ tries: 1, pauseMs: 100 }]);
  });

  it("a key that lives as long as one call: its first refusal is believed", async () => {
    const world = sending({ answers: [answer(402)], sent: { sends: 0 } });
    expect(await world.result).toMatchObject({ kind: "declined", tries: 1 });
    expect(world.settled).toEqual([["declined", 0]]);
  });

  it("one that leaves the key unused is told as declined with its key, and settled where nothing is in doubt", async () => {
    const world = sending({ answers: [answer(401)] });
    expect(await world.result).toMatchObject({ kind: "declined", keyKept: true, tries: 1 });
    expect(world.settled).toEqual([["refused", 1]]);
    const doubted = sending({ answers: [new Error("lost"), answer(401)] });
    expect(await doubted.result).toMatchObject({ kind: "declined", keyKept: true, tries: 2 });
    expect(doubted.settled).toEqual([]);
    const resumed = sending({ answers: [answer(401)], attempt: { resumed: true } });
    await resumed.result;
    expect(resumed.settled).toEqual([]);
  });
});

describe("an answer that somebody else may have made", () => {
  const page = answer(200, { "content-type": "text/html" }, "<html>log in</html>");

  it("a page where JSON is expected is asked about again, three times, then the outcome is unknown", async () => {
    const world = sending({ answers: [page], retry: { backoffMs: 100 } });
    expect(await world.result).toMatchObject({ kind: "unknown", reason: "unproven", tries: 3 });
    expect(world.settled).toEqual([]);
    expect(world.pauses).toEqual([100, 200]);
    expect(world.tokens(), "it may have taken effect: the tries count").toBe(18);
  });

  it("is forgotten once the service itself answers", async () => {
    const answers = [page, page, answer(503), page, page, answer(201)];
    expect(await sending({ answers }).result).toMatchObject({ kind: "done", tries: 6 });
  });

  it("isAnswer decides where it says something, and leaves the rest to the rule", async () => {
    const own = await sending({ answers: [page], parts: { isAnswer: () => true } }).result;
    expect(own).toMatchObject({ kind: "done", tries: 1 });
    const foreign = await sending({ answers: [answer(201)], parts: { isAnswer: () => false } }).result;
    expect(foreign).toMatchObject({ kind: "unknown", reason: "unproven" });
    const silent = await sending({ answers: [answer(201)], parts: { isAnswer: () => undefined } }).result;
    expect(silent).toMatchObject({ kind: "done" });
    const proven = await sending({ answers: [answer(201, replayed)], parts: { isAnswer: () => false } }).result;
    expect(proven, "a replay needs no opinion").toMatchObject({ kind: "done" });
  });

  it("a refusal after a send whose outcome is open is not believed", async () => {
    const lost = sending({ answers: [new Error("lost"), answer(402)] });
    expect(await lost.result).toMatchObject({ kind: "unknown", reason: "unproven", tries: 4 });
    const again = sending({ answers: [answer(402)], sent: { sentAtMs: 1_000_000, sends: 2 } });
    expect(await again.result).toMatchObject({ kind: "unknown", reason: "unproven", tries: 3 });
    const pending = sending({ answers: [answer(202, { "retry-after": "0" }), answer(402)] });
    expect(await pending.result).toMatchObject({ kind: "unknown", reason: "unproven" });
    const failed = sending({ answers: [answer(500), answer(402)] });
    expect(await failed.result).toMatchObject({ kind: "unknown", reason: "unproven" });
  });

  it.each([425, 429])("%i says that nothing was done: a refusal after it is believed", async (status) => {
    const world = sending({ answers: [answer(status), answer(402)] });
    expect(await world.result).toMatchObject({ kind: "declined", tries: 3 });
  });
});

describe("an outcome that stays unknown", () => {
  it("after as many failures as may be, with the last error, and an attempt that was sent", async () => {
    const lost = new Error("lost");
    const world = sending({ answers: [lost], retry: { triesMax: 3, backoffMs: 100 } });
    const result = await world.result;
    expect(result).toMatchObject({ kind: "unknown", reason: "tries", tries: 3, key: "k-1", cause: lost });
    expect(result).toMatchObject({ answer: undefined, problem: undefined, attempt: { key: "k-1", resumed: true } });
    expect(world.pauses).toEqual([100, 200]);
    expect(world.told).toEqual([
      { tries: 1, pauseMs: 100 },
      { tries: 2, pauseMs: 200 },
    ]);
  });

  it("where the server itself says so, with its problem", async () => {
    const world = sending({ answers: [problem(409, { code: "outcome-unknown", retryable: false })] });
    expect(await world.result).toMatchObject({
      kind: "unknown",
      reason: "server",
      tries: 1,
      problem: { code: "outcome-unknown" },
      answer: { status: 409 },
      cause: undefined,
    });
    expect(world.settled).toEqual([]);
  });

  it("where the budget is used up", async () => {
    const world = sending({ answers: [answer(503)], budget: 1 });
    expect(await world.result).toMatchObject({ kind: "unknown", reason: "budget", tries: 2, answer: { status: 503 } });
  });

  it("where the next pause would go beyond the deadline, or just to it", async () => {
    const retry = { deadlineMs: 300, backoffMs: 100 };
    const world = sending({ answers: [answer(503)], retry });
    expect(await world.result).toMatchObject({ kind: "unknown", reason: "deadline", tries: 2 });
    expect(world.pauses).toEqual([100]);
    const fits = sending({ answers: [answer(503), answer(503), answer(201)], retry: { ...retry, deadlineMs: 301 } });
    expect(await fits.result).toMatchObject({ kind: "done", tries: 3 });
  });

  it("where it was aborted: before anything is sent, before a try, or after an answer", async () => {
    const world = sending({ answers: [answer(201)], signal: AbortSignal.abort() });
    expect(await world.result).toMatchObject({
      kind: "unknown",
      reason: "aborted",
      tries: 0,
      attempt: { resumed: false },
    });
    expect([world.calls, world.marked]).toEqual([[], []]);
    const during = new AbortController();
    const fails = (): Error => {
      during.abort(new Error("stop"));
      return new Error("lost");
    };
    const second = sending({ answers: [fails], signal: during.signal });
    expect(await second.result).toMatchObject({ kind: "unknown", reason: "aborted", tries: 1 });
    expect(second.pauses).toEqual([]);
    const pausing = new AbortController();
    const third = sending({ answers: [answer(503)], signal: pausing.signal, onRetry: () => pausing.abort() });
    expect(await third.result).toMatchObject({ kind: "unknown", reason: "aborted", tries: 1 });
    expect(third.pauses).toHaveLength(1);
  });
});

describe("an attempt that was sent before", () => {
  const nowMs = 1_000_000_000;
  const aged = (ageMs: number, more: Partial<World> = {}) => {
    const asked: boolean[] = [];
    const clock = { nowMs: () => nowMs, random: () => 0, sleep: async () => undefined };
    const policy = async (ask: boolean) => {
      asked.push(ask);
      return undefined;
    };
    const world = sending({
      answers: [answer(201)],
      sent: { sentAtMs: nowMs - ageMs, sends: 2 },
      ...more,
      parts: { clock, policy, ...more.parts },
    });
    return { ...world, asked };
  };

  it("is sent again within the retention, and not at its end: the server may have forgotten it", async () => {
    expect(await aged(86_399_999).result).toMatchObject({ kind: "done" });
    const expired = aged(86_400_000);
    expect(await expired.result).toMatchObject({ kind: "unknown", reason: "expired", tries: 0 });
    expect(expired.calls).toEqual([]);
  });

  it("counts by the server's own retention where that is known", async () => {
    const retentionMs = 3_600_000;
    const policy = async () => ({ header: "x", retentionMs, quoted: false, operations: [] });
    expect(await aged(3_599_999, { parts: { policy } }).result).toMatchObject({ kind: "done" });
    expect(await aged(3_600_000, { parts: { policy } }).result).toMatchObject({ reason: "expired" });
  });

  it("has the policy read first where it is older than a minute", async () => {
    const young = aged(60_000);
    await young.result;
    expect(young.asked).toEqual([false]);
    const old = aged(60_001);
    await old.result;
    expect(old.asked).toEqual([true]);
  });

  it("is expired where the clock was set back by more than a minute since", async () => {
    expect(await aged(-60_000).result).toMatchObject({ kind: "done" });
    expect(await aged(-60_001).result).toMatchObject({ kind: "unknown", reason: "expired" });
  });

  it("is looked at before every try: pauses may be longer than they were meant to be", async () => {
    for (const [pausedMs, tries] of [
      [86_399_999, 2],
      [86_400_000, 1],
      [-60_000, 2],
      [-60_001, 1],
    ] as const) {
      let atMs = nowMs;
      const sleep = async (): Promise<void> => void (atMs += pausedMs);
      const clock = { nowMs: () => atMs, elapsedMs: () => 0, random: () => 0, sleep };
      const world = sending({ answers: [answer(503)], retry: { triesMax: 2 }, parts: { clock } });
      const reason = tries === 2 ? "tries" : "expired";
      expect(await world.result, String(pausedMs)).toMatchObject({ kind: "unknown", reason, tries });
    }
  });

  it("has the policy read again only after another minute", async () => {
    let atMs = nowMs;
    const asked: boolean[] = [];
    const sleep = async (): Promise<void> => void (atMs += 30_000);
    const clock = { nowMs: () => atMs, elapsedMs: () => 0, random: () => 0, sleep };
    const policy = async (ask: boolean) => {
      asked.push(ask);
      return undefined;
    };
    await sending({ answers: [answer(503)], retry: { triesMax: 8 }, parts: { clock, policy } }).result;
    expect(asked).toEqual([false, false, true, false, false, true, false]);
  });

  it("asks for no policy where it was never sent", async () => {
    const world = aged(0, { sent: { sends: 1 } });
    await world.result;
    expect(world.asked).toEqual([]);
  });
});

describe("pauses", () => {
  it("a request that still runs is asked about at least a tenth of a second apart, and costs neither tries nor budget", async () => {
    const pending = problem(409, { code: "idempotency-in-flight", retryable: true });
    const world = sending({
      answers: [pending, pending, answer(201, replayed)],
      retry: { triesMax: 1, backoffMs: 1 },
      budget: 0,
    });
    expect(await world.result).toMatchObject({ kind: "done", tries: 3 });
    expect(world.pauses).toEqual([100, 100]);
  });

  it("are as long as the server asks for, by its header or by its problem", async () => {
    const world = sending({ answers: [answer(503, { "retry-after": "2" }), answer(201)], retry: { backoffMs: 100 } });
    await world.result;
    expect(world.pauses).toEqual([2_100]);
    const said = sending({ answers: [problem(503, { retryAfter: 3 }), answer(201)], retry: { backoffMs: 100 } });
    await said.result;
    expect(said.pauses).toEqual([3_100]);
    const pending = answer(202, { "retry-after": "1" });
    const polled = sending({ answers: [pending, answer(201)], retry: { backoffMs: 100 } });
    await polled.result;
    expect(polled.pauses).toEqual([1_100]);
  });

  it("grow with failures, and with tries where they are free", async () => {
    const pending = answer(202, { "retry-after": "0" });
    const world = sending({ answers: [pending, pending, pending, answer(201)], retry: { backoffMs: 200 } });
    await world.result;
    expect(world.pauses).toEqual([200, 400, 800]);
    const failing = sending({ answers: [pending, answer(503), answer(201)], retry: { backoffMs: 200 } });
    await failing.result;
    expect(failing.pauses).toEqual([200, 200]);
  });

  it("are told to the attempt's own listener where the call has none", async () => {
    const told: unknown[] = [];
    const world = sending({
      answers: [answer(503), answer(201)],
      onRetry: undefined,
      attempt: { onRetry: (each) => void told.push(each) },
      retry: { backoffMs: 100 },
    });
    await world.result;
    expect(told).toEqual([{ tries: 1, pauseMs: 100 }]);
  });

  it("a device that is offline waits to be online, which counts as no failure", async () => {
    vi.stubGlobal("navigator", { onLine: false });
    const listeners: (() => void)[] = [];
    vi.stubGlobal("addEventListener", (_name: string, listener: () => void) => void listeners.push(listener));
    try {
      const lost = new Error("offline");
      const online = (): Error => {
        queueMicrotask(() => setTimeout(() => listeners.forEach((each) => each()), 1));
        return lost;
      };
      const world = sending({ answers: [online, online, answer(201)], retry: { triesMax: 1 }, budget: 0 });
      expect(await world.result).toMatchObject({ kind: "done", tries: 3 });
      expect(world.pauses).toEqual([]);
      expect(world.told).toEqual([
        { tries: 1, pauseMs: 60_000 },
        { tries: 2, pauseMs: 60_000 },
      ]);
    } finally {
      vi.unstubAllGlobals();
    }
  });

  it("a try that was answered leaves no timer and no listener behind", async () => {
    const { signal } = new AbortController();
    const set = vi.spyOn(globalThis, "setTimeout");
    const cleared = vi.spyOn(globalThis, "clearTimeout");
    try {
      await sending({ answers: [answer(503), answer(201)], signal, retry: { callTimeoutMs: 4_321 } }).result;
      const timers = set.mock.results.filter((_, at) => set.mock.calls[at]?.[1] === 4_321).map(({ value }) => value);
      expect(timers).toHaveLength(2);
      expect(cleared.mock.calls.map(([timer]) => timer)).toEqual(expect.arrayContaining(timers));
    } finally {
      vi.restoreAllMocks();
    }
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("a try ends after its own time, and with the caller's signal", async () => {
    const hang: typeof fetch = (_url, init) =>
      new Promise((_, reject) => {
        init?.signal?.addEventListener("abort", () => reject(init.signal?.reason as Error));
      });
    const world = sending({ answers: [], parts: { fetch: hang }, retry: { triesMax: 1, callTimeoutMs: 5 } });
    expect(await world.result).toMatchObject({ reason: "tries", cause: { message: "no answer in 5 ms" } });
    const abort = new AbortController();
    setTimeout(() => abort.abort(new Error("closed")), 5);
    const stopped = sending({ answers: [], parts: { fetch: hang }, signal: abort.signal });
    expect(await stopped.result).toMatchObject({ reason: "aborted", tries: 1, cause: { message: "closed" } });
  });
});
