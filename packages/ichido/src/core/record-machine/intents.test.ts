import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Intents, type IntentPlace } from "./intents.ts";

const place = (note: number, atMs = note): IntentPlace => ({ page: note * 10, note, atMs, isOwn: note % 2 === 0 });
const nameMask = 0x3fff_ffff;

describe("first runs by their intent", () => {
  it("S22 meet the one before with the same content, as it was told", () => {
    const intents = new Intents(8);
    const first = { page: 2 ** 40, note: 4_000_000_000, atMs: 1_800_000_000_000.5, isOwn: true };
    expect(intents.meet(1, 2, first)).toBeUndefined();
    expect(intents.meet(1, 2, { ...place(5), atMs: first.atMs + 1 })).toEqual(first);
    expect(intents.meet(1, 2, { ...place(6), atMs: first.atMs + 2 })).toEqual({ ...place(5), atMs: first.atMs + 1 });
  });

  it("S22 are the same by both halves of the hash alone, the whole of each", () => {
    const intents = new Intents(8);
    const [low, high] = [0x8000_0001, 0xffff_ffff];
    intents.meet(low, high, place(1));
    expect(intents.meet(low, high - 1, place(2)), "the other half").toBeUndefined();
    intents.meet(low, high, place(3));
    expect(intents.meet(low & nameMask, high, place(4)), "found under the same name").toBeUndefined();
    intents.meet(low, high, place(5));
    expect(intents.meet(low, high, place(6))).toEqual(place(5));
  });

  it("of two, the later is remembered, in whichever order they come; of two of one moment, the last", () => {
    const intents = new Intents(8);
    intents.meet(1, 2, place(1, 100));
    expect(intents.meet(1, 2, place(2, 50))).toEqual(place(1, 100));
    expect(intents.meet(1, 2, place(3, 100))).toEqual(place(1, 100));
    expect(intents.meet(1, 2, place(4, 120))).toEqual(place(3, 100));
  });

  it("the oldest is forgotten for a new one past the bound, also below the room of the beginning", () => {
    const intents = new Intents(3);
    for (const low of [1, 2, 3]) intents.meet(low, 0, place(low));
    expect(intents.meet(1, 0, place(4)), "in its place: nobody goes for it").toEqual(place(1));
    intents.meet(5, 0, place(5));
    expect(intents.meet(1, 0, place(6)), "it went for 5").toBeUndefined();
    expect(intents.meet(3, 0, place(7))).toEqual(place(3));
    expect(intents.meet(2, 0, place(8)), "it went for 1").toBeUndefined();
  });
});

/** The same in plain objects: nobody can tell the ring of numbers from it. */
class Model {
  readonly #most: number;
  #entries: { readonly low: number; readonly high: number; run: IntentPlace }[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return new Set(this.#entries.map(({ low }) => low & nameMask)).size;
  }

  meet(low: number, high: number, run: IntentPlace): IntentPlace | undefined {
    const named = this.#entries.findLast((each) => (each.low & nameMask) === (low & nameMask));
    if (named?.low === low && named.high === high) {
      const met = named.run;
      if (met.atMs <= run.atMs) named.run = run;
      return met;
    }
    this.#entries = [...this.#entries, { low, high, run }].slice(-this.#most);
    return undefined;
  }
}

const meeting = fc.record({
  low: fc.constantFrom(0, 1, 2, 3, nameMask + 2),
  high: fc.nat(1),
  run: fc.record({ page: fc.maxSafeNat(), note: fc.nat(), atMs: fc.nat(9), isOwn: fc.boolean() }),
});

it("S22 answers as a list of the last ones would, for every bound", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9 }), fc.array(meeting, { maxLength: 80, size: "max" }), (most, meetings) => {
      const [intents, model] = [new Intents(most), new Model(most)];
      for (const { low, high, run } of meetings) {
        expect(intents.meet(low, high, run)).toEqual(model.meet(low, high, run));
        expect(intents.size).toBe(model.size);
      }
    }),
  );
});

it.each([5_000, 9_000])(
  "grows from the room of the beginning to a bound of %i, and keeps what it has on the way",
  (most) => {
    const intents = new Intents(most);
    const meet = (note: number, atMs = note) => intents.meet(note * 7, note, place(note, atMs));
    for (let note = 1; note <= most; note += 1) meet(note);
    expect(intents.size).toBe(most);
    const remembered = Array.from({ length: most }, (_, at) => meet(at + 1));
    expect(remembered).toEqual(remembered.map((_, at) => place(at + 1)));
    for (let note = most + 1; note <= most + 50; note += 1) meet(note);
    expect(intents.size).toBe(most);
    expect([meet(51), meet(most + 50)]).toEqual([place(51), place(most + 50)]);
    expect([meet(1), meet(50)], "gone for the new ones").toEqual([undefined, undefined]);
  },
);
