import { describe, expect, it } from "vitest";
import { nearestOf } from "./nearest-name.ts";
import { integerOption, knownOptions, oneOfOption, optionInvalid } from "./option-checks.ts";

describe("nearestOf", () => {
  it.each([
    ["retentionMS", "retentionMs"],
    ["onUnkown", "onUnknown"],
    ["tablePrefx", "tablePrefix"],
    ["requestBytesMaks", "requestBytesMax"],
    ["ledgeMs", "leaseMs"],
    ["scoep", undefined],
    ["colour", undefined],
    ["x", undefined],
    ["x".repeat(10_000), undefined],
  ])("%s → %s", (given, meant) => {
    const known = ["retentionMs", "onUnknown", "tablePrefix", "requestBytesMax", "leaseMs", "scope"];
    expect(nearestOf(given, known)).toBe(meant);
  });
});

describe("one wording for all options", () => {
  const message = (work: () => unknown): string => {
    try {
      work();
    } catch (error) {
      return (error as Error).message;
    }
    return "";
  };

  it("names the option, what was expected and what was given", () => {
    expect(message(() => integerOption("leaseMs", "5", 1, 9))).toBe(
      'option leaseMs: expected an integer from 1 to 9, got "5"',
    );
    expect(message(() => oneOfOption("mode", 1, ["lease", "transaction"]))).toBe(
      'option mode: expected "lease" or "transaction", got 1',
    );
    expect(optionInvalid("store", "a store", Promise.resolve()).message).toContain(
      "got a promise (is an await missing?)",
    );
  });

  it("an unknown name is refused with the nearest one, or with all", () => {
    const names = { leaseMs: true, sweepMs: true } as const;
    expect(message(() => knownOptions("sample", { leesMs: 1 } as never, names))).toBe(
      "option leesMs: sample has no such option; did you mean leaseMs?",
    );
    expect(message(() => knownOptions("sample", { colour: 1 } as never, names))).toBe(
      "option colour: sample has no such option; it has leaseMs, sweepMs",
    );
    expect(message(() => knownOptions("sample", null as never, names))).toBe(
      "option sample: expected an object of options, got null",
    );
    expect(message(() => knownOptions("sample", { leaseMs: undefined as never }, { leaseMs: true }))).toBe("");
  });
});
