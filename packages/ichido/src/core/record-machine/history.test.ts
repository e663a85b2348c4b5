import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { answer, hash, owner } from "../../../../../test/support/sample-record.ts";
import { limits } from "../contract/defaults.ts";
import type { RequestOutcome } from "../contract/events.ts";
import type { LoggedAttempt } from "../contract/history.ts";
import type { Key } from "../contract/record.ts";
import type { StoredRecord } from "../contract/store.ts";
import { nobody } from "./bounds.ts";
import { attemptsKept, isRun, looksAfterBound, ownersOf, runOf, withOwnRun } from "./history.ts";

const most = limits.attemptsPerRecordMax;
const noteOf = (number: number, outcome: RequestOutcome = "replayed", process = "api-1") => ({
  number,
  outcome,
  process,
});
const numbered = (count: number, outcome: RequestOutcome, from = 1) =>
  Array.from({ length: count }, (_, at) => noteOf(from + at, outcome));

describe("attempts that are kept of a record", () => {
  it("are all, in their order, while they are few", () => {
    const few = [noteOf(1, "executed"), noteOf(2), noteOf(3, "key_reused")];
    expect(attemptsKept(few)).toEqual(few);
    expect(attemptsKept([])).toEqual([]);
  });

  it("are the last ones, runs and all other answers by a bound each: a storm of replays hides no run", () => {
    const runs = numbered(most + 2, "executed");
    const others = numbered(most + 3, "replayed", 1_000);
    expect(attemptsKept([...runs, ...others])).toEqual([...runs.slice(2), ...others.slice(3)]);
    expect(attemptsKept([...others, ...runs])).toEqual([...others.slice(3), ...runs.slice(2)]);
  });

  it("have no copies of a batch that was sent again; the same number of another process is no copy", () => {
    const batch = [noteOf(1, "executed"), noteOf(2)];
    const other = noteOf(2, "replayed", "api-2");
    expect(attemptsKept([...batch, ...batch, other])).toEqual([...batch, other]);
    const mixed = [noteOf(1, "replayed", "1 api"), noteOf(11, "replayed", "api")];
    expect(attemptsKept(mixed), "digits at the seam of number and name").toEqual(mixed);
  });

  it("copies take no room from what they are copies of", () => {
    const others = numbered(most, "replayed");
    expect(attemptsKept([...others, ...others])).toEqual(others);
  });

  it("whatever came: no more than the bounds, each once, a part of what came, and the same when asked again", () => {
    const note = fc.record({
      number: fc.nat(300),
      outcome: fc.constantFrom<RequestOutcome>("executed", "replayed", "refused"),
      process: fc.constantFrom("a", "b"),
    });
    fc.assert(
      fc.property(fc.array(note, { maxLength: 700, size: "max" }), (notes) => {
        const kept = attemptsKept(notes);
        expect(attemptsKept(kept)).toEqual(kept);
        expect(kept.filter(({ outcome }) => isRun(outcome)).length).toBeLessThanOrEqual(most);
        expect(kept.filter(({ outcome }) => !isRun(outcome)).length).toBeLessThanOrEqual(most);
        expect(new Set(kept.map(({ number, process }) => `${process} ${number}`)).size).toBe(kept.length);
        const places = kept.map((each) => notes.indexOf(each));
        expect(places).toEqual(places.toSorted((one, other) => one - other));
        expect(places).not.toContain(-1);
      }),
      { numRuns: 30 },
    );
  });
});

it("a bound is looked after with one note in sixteen, however far apart the notes of a key are", () => {
  const share = (step: number): number => {
    const looks = Array.from({ length: 16_000 }, (_, at) => looksAfterBound(1 + at * step));
    return looks.filter(Boolean).length / looks.length;
  };
  for (const step of [1, 2, 3, 5, 8, 16, 100, 256, 1_024]) {
    expect(share(step), `one in ${step}`).toBeGreaterThan(1 / 24);
    expect(share(step), `one in ${step}`).toBeLessThan(1 / 11);
  }
});

it("a run is where the handler ran, and nothing else", () => {
  const outcomes: RequestOutcome[] = ["executed", "replayed", "replayed_after_wait", "in_progress", "refused"];
  expect(outcomes.filter(isRun)).toEqual(["executed"]);
});

const record: StoredRecord = {
  identity: {
    key: "key-1" as Key,
    scopeHash: hash(1),
    tenant: "acme",
    principal: "alice",
    operation: "payment.create",
  },
  fingerprint: { version: 1, raw: hash(2), canonical: hash(3) },
  state: "completed",
  owner: owner("a"),
  fence: 9,
  attempts: 1,
  stepsStarted: 0,
  response: { ...answer, status: 201 },
  labels: {},
  createdAtMs: 1_000,
  updatedAtMs: 1_250,
  expiresAtMs: 9_000,
};

describe("the run that a record tells by itself", () => {
  const run: LoggedAttempt = {
    record: { key: "key-1" as Key, scopeHash: hash(1), operation: "payment.create" },
    number: 0,
    outcome: "executed",
    atMs: 1_000,
    tookMs: 250,
    status: 201,
    attempt: 1,
    fence: 9,
    process: "api-1",
    release: "v7",
  };

  it("names neither tenant nor principal, and the process where that is known", () => {
    expect(runOf(record, { process: "api-1", release: "v7" })).toStrictEqual(run);
    const { release, ...nameless } = run;
    expect(release).toBe("v7");
    expect(runOf(record)).toStrictEqual({ ...nameless, process: "not known" });
  });

  it("took no time by a clock that stepped back", () => {
    expect(runOf({ ...record, updatedAtMs: 400 })?.tookMs).toBe(0);
  });

  it("is told where the record was completed at its first attempt by its owner alone", () => {
    const { response, ...unanswered } = record;
    expect(response?.status).toBe(201);
    const others: (StoredRecord | undefined)[] = [
      undefined,
      { ...record, state: "processing" },
      { ...record, state: "failed" },
      { ...record, attempts: 2 },
      { ...record, owner: owner(nobody) },
      unanswered,
    ];
    expect(others.map((each) => runOf(each))).toEqual(others.map(() => undefined));
  });

  it("stands before what was logged, unless it was logged too", () => {
    const replay: LoggedAttempt = { ...run, number: 4, outcome: "replayed", fence: 9, atMs: 2_000 };
    const former: LoggedAttempt = { ...run, number: 3, fence: 8 };
    expect(withOwnRun([replay], run)).toEqual([run, replay]);
    expect(withOwnRun([former, replay], run)).toEqual([run, former, replay]);
    const logged = [{ ...run, number: 3 }, replay];
    expect(withOwnRun(logged, run)).toBe(logged);
    expect(withOwnRun(logged, undefined)).toBe(logged);
    const { fence, ...unfenced } = former;
    expect(fence).toBe(8);
    expect(withOwnRun([unfenced], undefined)).toEqual([unfenced]);
  });
});

it("all owner tokens of one process begin alike, with or without the dashes of a UUID", () => {
  expect(ownersOf("0123456789abcdef0123456789abcdef")).toBe("0123456789abcdef");
  expect(ownersOf("01234567-89ab-cdef-0123-456789abcdef")).toBe("0123456789abcdef");
  expect(ownersOf("short")).toBe("short");
});
