import { expect, test } from "vitest";
import { checkPrefix, schemaOf } from "./table-prefix.ts";

test("a schema stands before the prefix, in quotes", () => {
  expect(checkPrefix("postgres")).toBe("ichido_");
  const prefix = checkPrefix("postgres", "shop_", "events");
  expect(prefix).toBe('"events".shop_');
  expect(schemaOf(prefix)).toBe("events");
});

test.each([
  ["postgres", "a.b_", undefined, /^option tablePrefix: expected lower-case/],
  ["postgres", undefined, "Events", /^option schema: expected lower-case/],
  ["mysql", undefined, "events", /^option schema: expected none/],
  ["sqlite", undefined, "events", /^option schema: expected none/],
] as const)("on %s the prefix %j in the schema %j is refused", (dialect, tablePrefix, schema, message) => {
  expect(() => checkPrefix(dialect, tablePrefix, schema)).toThrow(message);
});
