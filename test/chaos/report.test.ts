/** What a run must have shown before it proves anything, and what the judgement of requests sees. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { shimmedServer } from "../../chaos/backends/shimmed-server.ts";
import { faultPoints } from "../../packages/ichido/src/testing/faults.ts";
import type { IchidoEvent } from "../../packages/ichido/src/core/contract/events.ts";
import { eventSights, eventsVacuousBy } from "../../chaos/events/report.ts";
import { History } from "../../chaos/history.ts";
import { note } from "../../chaos/engine.ts";
import { seenByDeathAt } from "../../chaos/fleet.ts";
import { hasFailed, holds, vacuousBy } from "../../chaos/report.ts";
import { sights, Tally } from "../../chaos/tally.ts";

const kinds = ["kill", "half-open"];

function tallyWith(seen: readonly string[], hits: Readonly<Record<string, number>>): Tally {
  const tally = new Tally();
  for (const sight of seen) tally.see(sight);
  for (const [kind, count] of Object.entries(hits)) tally.faults.set(kind, count);
  return tally;
}

function requests(seconds: number, tally: Tally, { replays = 1, answers = 5_000 } = {}): readonly string[] {
  const history = Object.assign(new History(), { replays, stormAnswers: answers });
  return vacuousBy({ options: { store: "sqlite", control: "none", seed: 1, seconds }, history, tally, kinds });
}

describe("I19 a run proves nothing", () => {
  const full = { kill: 390, "half-open": 10 };

  test("but for one that showed all that it must", () => {
    expect(requests(60, tallyWith(sights, full))).toEqual([]);
    expect(requests(15, tallyWith(sights, { kill: 1, "half-open": 1 }), { answers: 1 })).toEqual([]);
    expect(eventsVacuousBy({ seconds: 60 }, tallyWith(eventSights, full), kinds)).toEqual([]);
    expect(eventsVacuousBy({ seconds: 12 }, tallyWith(eventSights, { kill: 1, "half-open": 1 }), kinds)).toEqual([]);
  });

  test.each([1, 15, 59])("in which a kind of fault never struck, however short it is: %d s", (seconds) => {
    const struckOnce = { kill: 1 };
    const reason = "half-open struck 0 times, fewer than 1";
    expect(requests(seconds, tallyWith(sights, struckOnce))).toEqual([reason]);
    expect(eventsVacuousBy({ seconds }, tallyWith(eventSights, struckOnce), kinds)).toEqual([reason]);
    expect(requests(seconds, tallyWith(sights, {}))).toHaveLength(2);
  });

  test("of a minute in which a kind struck fewer than ten times", () => {
    const reason = "half-open struck 9 times, fewer than 10";
    expect(requests(60, tallyWith(sights, { kill: 391, "half-open": 9 }))).toEqual([reason]);
    expect(eventsVacuousBy({ seconds: 60 }, tallyWith(eventSights, { kill: 10, "half-open": 9 }), kinds)).toEqual([
      reason,
    ]);
  });

  test("of a minute with too few faults or answers", () => {
    expect(requests(60, tallyWith(sights, { kill: 389, "half-open": 10 }))).toEqual(["399 faults, fewer than 400"]);
    expect(requests(60, tallyWith(sights, full), { answers: 4_999 })).toEqual(["4999 answers, fewer than 5000"]);
  });

  test.each(sights)("without a %s", (sight) => {
    const others = sights.filter((each) => each !== sight);
    expect(requests(60, tallyWith(others, full), { replays: sight === "replay" ? 0 : 1 })).toEqual([
      `no ${sight} was seen`,
    ]);
  });

  test.each(eventSights)("of events without a %s", (sight) => {
    const others = eventSights.filter((each) => each !== sight);
    expect(eventsVacuousBy({ seconds: 12 }, tallyWith(others, full), kinds)).toEqual([`no ${sight} was seen`]);
  });
});

describe("I19 a run does not hold", () => {
  const clean = { violations: [], vacuous: [], troubles: [] };

  test("where a process ended by itself, or would have ended a user's", () => {
    expect(holds(clean)).toBe(true);
    expect(holds({ ...clean, troubles: ["a server ended by itself: out of memory"] })).toBe(false);
    expect(holds({ ...clean, troubles: ["unhandledRejection: Error: nobody waited"] })).toBe(false);
    expect(holds({ ...clean, troubles: ["store-restart could not strike: Error: busy"] })).toBe(true);
  });

  test("by what was answered when it was calm again", () => {
    const history = new History();
    const order = { intent: "i", amount: 1, beforeMs: 0, insideMs: 0, afterMs: 0, paddingBytes: 0 };
    const operation = history.begin({ number: 1, policy: "commit", caller: "ann", key: "k", order });
    const text = JSON.stringify({ intent: "i", caller: "ann", effect: "e", made: "m" });
    const replay = { status: 201, headers: { "x-made": "m", "idempotency-replayed": "true" }, text };
    history.note(operation, replay);
    history.isCalm = true;
    history.note(operation, replay);
    expect([history.answers, history.stormAnswers, history.replays]).toEqual([2, 1, 1]);
  });
});

describe("I19 whose decision it was", () => {
  const seenIn = (...lines: readonly string[]): Readonly<Record<string, number>> => {
    const tally = new Tally();
    for (const line of lines) tally.read(line);
    return Object.fromEntries(tally.seen);
  };

  test("is told apart: the reconciler's is not the person's", () => {
    expect(seenIn("reconciled", "reconciled")).toEqual({ "settled-by-reconciler": 2 });
    expect(seenIn("settled adopt ok", "settled release ok")).toEqual({ "settled-by-person": 2 });
  });

  test("is no decision where it came too late, or only put on hold", () => {
    expect(seenIn("settled release live", "settled hold ok")).toEqual({ "settle live": 1, "held-by-person": 1 });
  });
});

describe("I19 without a C compiler", () => {
  const build = (): { reason: string } => ({ reason: "no cc" });
  afterEach(() => vi.unstubAllEnvs());

  test.each(["CI", "REQUIRE_SERVICES"])("a run fails where servers are required: %s", (name) => {
    vi.stubEnv("CI", "");
    vi.stubEnv(name, name === "CI" ? "true" : "1");
    expect(() => shimmedServer(build)).toThrow("no cc");
  });

  test("elsewhere it says so and goes on", () => {
    vi.stubEnv("CI", "");
    vi.stubEnv("REQUIRE_SERVICES", "");
    const said = vi.spyOn(console, "log").mockImplementation(() => {});
    expect(shimmedServer(build)).toBeUndefined();
    expect(said.mock.calls.flat().join()).toContain("no cc");
    said.mockRestore();
  });
});

describe("I19 a commit whose outcome was not told", () => {
  test("is seen where the engine asks, not where a completion failed that may never have been sent", () => {
    const said: unknown[] = [];
    const log = vi.spyOn(console, "log").mockImplementation((line) => void said.push(line));
    const call = { type: "store-call", store: "postgres", durationMs: 1 } as const;
    note({ ...call, verb: "complete", error: new Error("refused") } as IchidoEvent);
    note({ ...call, verb: "landed" } as IchidoEvent);
    log.mockRestore();
    expect(said).toEqual(["saw failed-write", "saw ambiguous-commit"]);
  });

  test("is seen where a server dies after it, not where nothing was sent", () => {
    expect(faultPoints.filter((point) => seenByDeathAt(point) !== undefined)).toEqual([
      "after-complete",
      "after-commit",
    ]);
  });
});

describe("I19 a control has failed", () => {
  const violations = (...names: readonly string[]) => names.map((invariant) => ({ invariant, detail: "" }));

  test.each(["effect-doubled", "answer-changed", "wrote-without-session"])("by %s", (invariant) => {
    expect(hasFailed({ violations: violations("stuck", invariant) })).toBe(true);
  });

  test("by nothing that a slow machine brings about as well", () => {
    expect(hasFailed({ violations: violations("stuck", "lost") })).toBe(false);
    expect(hasFailed({ violations: [] })).toBe(false);
  });
});
