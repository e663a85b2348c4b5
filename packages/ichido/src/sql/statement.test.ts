import { describe, expect, it } from "vitest";
import { bind, createTexts, fixedStatement } from "./statement.ts";

const given = {
  look: "-- A comment with :name and {prefix}.\nselect {live} from {prefix}records\n  where key = :key and at::bigint > {now}",
};

describe("texts", () => {
  it("lose their comments and have tokens in tokens written out", () => {
    const textOf = createTexts("sqlite", "ichido_", given, { live: "{alive} + 1", alive: "0" });
    expect(textOf("look")).toMatch(/^select 0 \+ 1 from ichido_records where key = :key and at::bigint > cast\(/);
  });

  it("name indexes without the schema of their table", () => {
    const textOf = createTexts("postgres", '"apart".ichido_', { make: "create index {bare}a on {prefix}a (b)" });
    expect(textOf("make")).toBe('create index ichido_a on "apart".ichido_a (b)');
  });
});

describe("values", () => {
  const text = "select :a::bigint, :b, :list, :none, :least, :b";
  const values = { a: 7, b: "x", list: ["y", "z"], none: null, least: -1 };

  it("that are whole numbers or nulls become text, others travel", () => {
    expect(bind("postgres", text, values)).toEqual({
      sql: "select 7::bigint, $1, $2, $3, null, (-1), $4",
      bound: ["x", "y", "z", "x"],
    });
    expect(bind("mysql", text, values).sql).toBe("select 7::bigint, ?, ?, ?, null, (-1), ?");
  });

  it("of an empty list match nothing", () => {
    expect(bind("sqlite", "seq in (:list)", { list: [] }).sql).toBe("seq in (-1)");
  });

  it("that are missing or no whole numbers are refused by name", () => {
    expect(() => bind("sqlite", ":a", {})).toThrow(/a value for a/);
    expect(() => bind("sqlite", ":a", { a: 1.5 })).toThrow(/^a: expected a whole number/);
  });

  it("each have a place in a statement that stays prepared", () => {
    expect(fixedStatement("postgres", ":b or :a or :b")).toEqual({ sql: "$1 or $2 or $3", names: ["b", "a", "b"] });
    expect(fixedStatement("mysql", ":labelHash")).toEqual({ sql: "?", names: ["labelHash"] });
  });
});
