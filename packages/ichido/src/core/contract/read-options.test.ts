import { expect, it } from "vitest";
import { aFunction, given, integer, oneOf, optional, orElse, positive, readOptions } from "./read-options.ts";

interface Sample {
  readonly callTimeoutMs?: number;
  readonly waitMs?: number;
  readonly order?: "key" | "none";
  readonly name?: string;
  readonly limit?: number;
  readonly prefix?: string;
  readonly onEvent?: () => void;
}

function read(options: Sample) {
  return readOptions("sample", options, {
    callTimeoutMs: integer(10, 1_000, 50),
    waitMs: integer("callTimeoutMs", 2_000, 500),
    order: oneOf(["key", "none"], "key"),
    name: given("some"),
    limit: optional(positive()),
    prefix: orElse("a", (option, value) => `${option}:${String(value)}`),
    onEvent: optional(aFunction<() => void>("a listener")),
  });
}

it("gives every name of the table, as it was given or as it is without", () => {
  const plain = { callTimeoutMs: 50, waitMs: 500, order: "key", name: "some", limit: undefined, prefix: "prefix:a" };
  expect(read({})).toStrictEqual({ ...plain, onEvent: undefined });
  const onEvent = (): void => undefined;
  const given = { callTimeoutMs: 10, waitMs: 10, order: "none", name: "other", limit: 1, onEvent } as const;
  expect(read({ ...given, prefix: "b" })).toStrictEqual({ ...given, prefix: "prefix:b" });
});

it.each([
  [{ callTimeoutMs: 9 }, "option callTimeoutMs: expected an integer from 10 to 1000, got 9"],
  [{ callTimeoutMs: 600, waitMs: 599 }, "option waitMs: expected an integer from 600 to 2000, got 599"],
  [{ order: "any" }, 'option order: expected "key" or "none", got "any"'],
  [{ limit: 0 }, `option limit: expected an integer from 1 to ${Number.MAX_SAFE_INTEGER}, got 0`],
  [{ onEvent: 1 }, "option onEvent: expected a listener, got 1"],
  [{ waitMS: 1 }, "option waitMS: sample has no such option; did you mean waitMs?"],
  [null, "option sample: expected an object of options, got null"],
])("refuses %j", (options, message) => {
  expect(() => read(options as Sample)).toThrow(message);
});

it("refuses a table that lacks a name, or has one too many", () => {
  const both = { order: given(), name: given() };
  // @ts-expect-error: `name` is missing.
  readOptions("sample", {} as Pick<Sample, "name" | "order">, { order: given() });
  // @ts-expect-error: nobody can give `order`.
  readOptions("sample", {} as Pick<Sample, "name">, both);
  expect(readOptions("sample", {} as Pick<Sample, "name" | "order">, both)).toStrictEqual({
    order: undefined,
    name: undefined,
  });
});
