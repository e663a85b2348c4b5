import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hash } from "../../../../../test/support/sample-record.ts";
import { limits } from "../contract/defaults.ts";
import type { RequestOutcome } from "../contract/events.ts";
import type { Identity, Key } from "../contract/record.ts";
import { readPage, writtenPage } from "../record-machine/log-page.ts";
import { GatheredAttempts, type Answered } from "./gathered-attempts.ts";

const identity: Identity = {
  key: "key-1" as Key,
  scopeHash: hash(1),
  tenant: "acme",
  principal: "alice",
  operation: "payment.create",
};
const replayed: Answered = {
  identity,
  number: 1,
  outcome: "replayed",
  observed: false,
  askedMs: 1_000,
  tookMs: 3,
  status: 201,
  attempt: undefined,
  fence: undefined,
  askedBy: undefined,
  canonical: undefined,
  keepMs: 60_000,
};
const ran: Answered = { ...replayed, outcome: "executed", attempt: 1, fence: 9, canonical: hash(4) };
const named = (note: Answered, key: string): Answered => ({ ...note, identity: { ...identity, key: key as Key } });
const numbered = (note: Answered, count: number): Answered[] =>
  Array.from({ length: count }, (_, at) => named(note, `key-${at}`));

function gathered(...notes: readonly Answered[]): GatheredAttempts {
  const all = new GatheredAttempts(1_000);
  for (const note of notes) expect(all.add(note)).toBe(true);
  return all;
}

describe("equal answers to one key", () => {
  it("are one note: the first, how many, and how much later the last was", () => {
    const all = gathered(
      replayed,
      { ...replayed, number: 2, askedMs: 1_400 },
      { ...replayed, number: 3, askedMs: 1_700 },
    );
    expect([all.size, all.attempts]).toEqual([1, 3]);
    expect(all.batch(2_000)).toStrictEqual({
      notes: [
        {
          identity,
          number: 1,
          outcome: "replayed",
          tookMs: 3,
          keepMs: 60_000,
          agoMs: 1_000,
          status: 201,
          count: 3,
          spreadMs: 700,
        },
      ],
    });
  });

  it("come of one moment at the least, and were never asked later than now", () => {
    const [note] = gathered({ ...replayed, askedMs: 3_000 }, { ...replayed, askedMs: 2_500 }).batch(2_000).notes;
    expect(note).toMatchObject({ agoMs: 0, spreadMs: 0, count: 2 });
  });

  const others: [string, Partial<Answered>][] = [
    ["another outcome", { outcome: "replayed_after_wait" }],
    ["another status", { status: 200 }],
    ["another asker", { askedBy: "app 2" }],
    ["observed, not enforced", { observed: true }],
    ["another caller", { identity: { ...identity, scopeHash: hash(2) } }],
    ["another key", { identity: { ...identity, key: "key-2" as Key } }],
  ];

  it.each(others)("are not equal by %s, and each is counted with its like", (_, other) => {
    const second = { ...replayed, ...other };
    const all = gathered(replayed, second, replayed, second, second);
    expect(all.batch(2_000).notes.map(({ count }) => count)).toEqual([2, 3]);
    expect([all.size, all.attempts]).toEqual([2, 5]);
  });

  it("are told one by one where the handler ran", () => {
    const all = gathered(ran, { ...ran, number: 2 });
    expect(all.batch(1_000).notes.map(({ number, count }) => [number, count])).toEqual([
      [1, undefined],
      [2, undefined],
    ]);
  });

  it("whatever comes in whichever order: no attempt is lost, and none counted twice", () => {
    const answered = fc.record({
      key: fc.constantFrom("a", "b", "c"),
      outcome: fc.constantFrom<RequestOutcome>("replayed", "key_reused", "executed"),
      status: fc.constantFrom(200, 422),
    });
    fc.assert(
      fc.property(fc.array(answered, { maxLength: 60 }), (asked) => {
        const all = gathered(...asked.map(({ key, ...rest }) => named({ ...replayed, ...rest }, key)));
        const nameOf = (key: string, outcome: string, status = 0): string => `${key} ${outcome} ${status}`;
        const counted = new Map<string, number>();
        for (const { identity: of, outcome, status, count = 1 } of all.batch(0).notes) {
          const name = nameOf(of.key, outcome, status);
          counted.set(name, (counted.get(name) ?? 0) + count);
        }
        const expected = Map.groupBy(asked, ({ key, outcome, status }) => nameOf(key, outcome, status));
        expect(counted).toEqual(new Map([...expected].map(([name, { length }]) => [name, length])));
        expect(all.attempts).toBe(asked.length);
      }),
    );
  });
});

describe("a note", () => {
  it("has what it was told of, and nothing else", () => {
    const whole = { ...ran, observed: true, askedBy: "app 1" };
    expect(gathered(whole).batch(1_250).notes).toStrictEqual([
      {
        identity,
        number: 1,
        outcome: "executed",
        tookMs: 3,
        keepMs: 60_000,
        agoMs: 250,
        observed: true,
        status: 201,
        attempt: 1,
        fence: 9,
        askedBy: "app 1",
        canonical: hash(4),
      },
    ]);
    const bare = gathered({ ...replayed, status: undefined }).batch(1_000).notes;
    expect(bare).toStrictEqual([{ identity, number: 1, outcome: "replayed", tookMs: 3, keepMs: 60_000, agoMs: 0 }]);
  });
});

describe("a first run that its record tells of", () => {
  it("is packed at once, by the time since the first attempt of the batch", () => {
    const all = new GatheredAttempts(1_000);
    all.addKept({ ...ran, askedMs: 1_200 });
    expect([all.size, all.attempts, all.isFull]).toEqual([1, 1, false]);
    const { notes, runs } = all.batch(1_500);
    expect(notes).toEqual([]);
    expect(runs).toMatchObject({ count: 1, agoMs: 500, keepMs: 60_000 });
    const { bytes } = writtenPage({ process: "api-1" }, runs === undefined ? [] : [runs]);
    expect(readPage(bytes, 10_000)).toMatchObject([{ atMs: 9_700, outcome: "executed", status: 201, fence: 9 }]);
    expect(all.batch(900).runs?.agoMs, "a clock that stands still").toBe(0);
    expect(gathered().batch(1_000)).toStrictEqual({ notes: [] });
  });

  it.each([{ observed: true }, { askedBy: "app 1" }])(
    "is a note of its own with %j, which its record does not keep",
    (more) => {
      const all = new GatheredAttempts(1_000);
      all.addKept({ ...ran, ...more });
      const { notes, runs } = all.batch(1_000);
      expect([notes.length, runs]).toEqual([1, undefined]);
      expect(notes).toMatchObject([more]);
    },
  );

  it("is packed all the same where there is no room for such notes", () => {
    const all = new GatheredAttempts(1_000);
    for (const note of numbered({ ...ran, askedBy: "app 1" }, limits.replayNotesMax + 2)) all.addKept(note);
    const { notes, runs } = all.batch(1_000);
    expect([notes.length, runs?.count, all.size]).toEqual([limits.replayNotesMax, 2, limits.replayNotesMax + 2]);
  });

  it("is full with the bytes of a page", () => {
    const all = new GatheredAttempts(1_000);
    const bytesOfNote = 76 + 100;
    const notes = numbered(ran, Math.ceil(limits.logPageBytesMax / bytesOfNote));
    const wide = notes.map((note) => named(note, note.identity.key.padEnd(100, "-")));
    for (const note of wide.slice(1)) all.addKept(note);
    expect(all.isFull).toBe(false);
    all.addKept(wide[0] ?? expect.fail());
    expect(all.isFull).toBe(true);
  });
});

describe("the room of a batch", () => {
  it.each(["replayed", "replayed_after_wait"] as const)(
    "has a bound for keys that are %s, which leaves room for others",
    (outcome) => {
      const all = gathered(...numbered({ ...replayed, outcome }, limits.replayNotesMax));
      expect(all.add(named({ ...replayed, outcome }, "one more"))).toBe(false);
      expect(all.add(named({ ...replayed, outcome }, "key-0")), "equal to one that is there").toBe(true);
      expect([all.size, all.attempts]).toEqual([limits.replayNotesMax, limits.replayNotesMax + 1]);
      for (let at = limits.replayNotesMax; at < limits.attemptBatchMax; at += 1) {
        expect(all.add(named({ ...replayed, outcome: at % 2 === 0 ? "executed" : "key_reused" }, `other-${at}`))).toBe(
          true,
        );
      }
      expect(all.add(named(ran, "a run"))).toBe(false);
      expect(all.add(named({ ...replayed, outcome: "key_reused" }, "a refusal"))).toBe(false);
      expect(all.size).toBe(limits.attemptBatchMax);
    },
  );
});
