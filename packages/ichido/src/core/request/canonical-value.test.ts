import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson, fieldTreeOf, nestingMax } from "./canonical-json.ts";
import { canonicalValue, NestingError } from "./canonical-value.ts";

function refusal(value: unknown): string {
  try {
    return `accepted as ${canonicalValue(value)}`;
  } catch (error) {
    expect(error).toMatchObject({ code: "value-not-serialisable" });
    return (error as Error).message;
  }
}

describe("canonicalValue", () => {
  it("F-03 spells a parsed value as its JSON text is spelt", () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
        const text = JSON.stringify(value);
        expect(canonicalValue(JSON.parse(text))).toBe(canonicalJson(text));
      }),
      { numRuns: 1000 },
    );
  });

  it("A13 counts a member named __proto__, and objects without a prototype", () => {
    expect(canonicalValue(JSON.parse('{"__proto__":1,"a":2}'))).toBe('{"__proto__":1,"a":2}');
    expect(canonicalValue(Object.assign(Object.create(null) as object, { b: 1, a: 2 }))).toBe('{"a":2,"b":1}');
  });

  it("takes null for a value and an undefined member for an absent one", () => {
    expect(canonicalValue({ a: null, b: undefined })).toBe('{"a":null}');
    expect(canonicalValue([null])).not.toBe(canonicalValue([undefined]));
    expect(canonicalValue(["undefined"])).not.toBe(canonicalValue([undefined]));
    // eslint-disable-next-line no-sparse-arrays
    expect(canonicalValue([, 1])).toBe(canonicalValue([undefined, 1]));
  });

  it("F-05 spells a bigint as the number it is", () => {
    expect(canonicalValue([9_007_199_254_740_993n, 10n ** 30n, -5n])).toBe("[9007199254740993,1e+30,-5]");
    expect(canonicalValue(1n)).toBe(canonicalValue(1));
    expect(canonicalValue(-0)).toBe("0");
  });

  it("honours toJSON and boxed values as JSON.stringify does", () => {
    const date = new Date(0);
    expect(canonicalValue({ date })).toBe('{"date":"1970-01-01T00:00:00.000Z"}');
    expect(canonicalValue([Object("a"), Object(1), Object(true)])).toBe('["a",1,true]');
    expect(canonicalValue({ a: { toJSON: (name: string) => `was ${name}` } })).toBe('{"a":"was a"}');
    expect(canonicalValue({ toJSON: (name: string) => `was ${name}` })).toBe('"was "');
    expect(canonicalValue({ a: { toJSON: () => undefined } })).toBe("{}");
    expect(canonicalValue({ toJSON: 1 })).toBe('{"toJSON":1}');
  });

  it("takes instances of classes by their members", () => {
    class Order {
      amount = 1;
      readonly #hidden = 2;
      hidden(): number {
        return this.#hidden;
      }
    }
    expect(canonicalValue(new Order())).toBe('{"amount":1}');
  });

  it("tells bytes apart by content, from each other and from JSON", () => {
    const spelt = [Buffer.from("a"), Buffer.from("b"), { type: "Buffer", data: [97] }].map((value) =>
      canonicalValue(value),
    );
    expect(new Set(spelt).size).toBe(3);
    expect(canonicalValue(Uint8Array.of(97))).toBe(spelt[0]);
  });

  it.each([
    [Number.NaN, /NaN/],
    [{ a: [1, Number.POSITIVE_INFINITY] }, /at a\.1 is Infinity/],
    [() => 1, /a function/],
    [{ a: () => 1 }, /at a is a function/],
    [Symbol("s"), /a symbol/],
    [new Map([["a", 1]]), /Map/],
    [{ deep: { set: new Set() } }, /at deep\.set is \[object Set\]/],
    [new FormData(), /FormData/],
    [new Blob(["a"]), /Blob/],
    [Promise.resolve(1), /Promise/],
    [new Float64Array(1), /Float64Array/],
    [/a/, /RegExp/],
    [new Error("a"), /Error/],
  ])("refuses %o, which JSON would drop or confuse", (value, message) => {
    expect(refusal(value)).toMatch(message);
  });

  it("refuses a cycle and what is nested too deep", () => {
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    expect(() => canonicalValue(cycle)).toThrow(NestingError);
    const nested = (depth: number): unknown => JSON.parse("[".repeat(depth) + "]".repeat(depth));
    expect(() => canonicalValue(nested(nestingMax + 1))).toThrow(NestingError);
    expect(canonicalValue(nested(nestingMax))).toBe("[".repeat(nestingMax) + "]".repeat(nestingMax));
  });

  it("F-03 keeps the named fields alone, as for JSON text", () => {
    const fields = fieldTreeOf(["amount", "customer.id", "items"]);
    for (const value of [
      { amount: 1, note: "x", customer: { id: 2, name: "y" }, items: [{ a: 1 }] },
      { customer: { name: "y" } },
      { customer: {}, amount: null },
      { customer: "x" },
      [1, 2],
      "text",
    ]) {
      expect(canonicalValue(value, fields)).toBe(canonicalJson(JSON.stringify(value), fields));
    }
  });
});
