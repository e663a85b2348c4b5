import { describe, expect, test } from "vitest";
import { linesMatching, trackedFiles } from "./tracked.ts";

/** What only a rule of a record would say: what is in doubt, whether a lease lives, what a claim is granted. */
const rules = [
  /\borigin: "(new|failed|lapsed|suspended)"/,
  /\borigin [!=]== "(failed|lapsed|suspended)"/,
  /\? "unknown" :/,
  /\bleaseUs [<>]/,
];
const isRule = new RegExp(rules.map(({ source }) => source).join("|"));

const rooms = ["core/", "stores/"];
/** The contract tells what the words mean, in comments and types. */
const home = ["core/record-machine/", "core/contract/"];

test("no rule of a record is written in TypeScript outside of the record machine", () => {
  const prefix = "packages/ichido/src/";
  const begins = (path: string, folders: readonly string[]): boolean =>
    folders.some((folder) => path.startsWith(prefix + folder));
  const outside = trackedFiles()
    .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts") && !path.endsWith(".generated.ts"))
    .filter((path) => begins(path, rooms) && !begins(path, home));
  expect(outside.length).toBeGreaterThan(100);
  expect(linesMatching(outside, isRule)).toEqual([]);
});

describe("a rule is seen", () => {
  test.each([
    'state: known === "processing" && isInDoubt ? "unknown" : known,',
    'origin: "new",',
    'return origin === "lapsed" || origin === "suspended";',
    "if (record.leaseUs > nowUs) return;",
  ])("%s", (line) => expect(isRule.test(line)).toBe(true));

  test.each([
    "...(interim !== undefined && { interim }),",
    "leaseLeftMs: leaseLeftMs(record, nowUs),",
    'if (grant.origin === "new") keep();',
  ])("and what passes a record on, or asks whether it is new, is none: %s", (line) =>
    expect(isRule.test(line)).toBe(false),
  );
});
