import { describe, expect, test } from "vitest";
import { linesMatching, trackedFiles } from "./tracked.ts";

/** What only a rule of a record would say. */
const rules = [
  // What is in doubt, and how a record was come by.
  /\borigin: "(new|failed|lapsed|suspended)"/,
  /\borigin [!=]== "(failed|lapsed|suspended)"/,
  /\? "(unknown|new)" :/,
  /\bstate === "processing"/,
  /\bstateSeen\(/,
  /!== "live"/,
  // Whether a lease lives, a record is due or was just made: moments that are compared, bounds and fences.
  /\b(lease|expires|created|updated|due)Us ([<>]=?|[!=]==|-) (?!undefined)/,
  /([<>]=?|[!=]==) [\w.]*\b(lease|expires|created|updated|due)Us\b/,
  /\bleaseAbsurdUs\b/,
  /\bMath\.min\([\w.]*\bleaseMs\b/,
  /\bMath\.max\(.*[fF]ence/,
  /\bborn\([^)]*, 0, \{/,
  // What a claim is answered, and how a record and its sizes are shown.
  /\boutcome: "(processing|mismatch)"/,
  /\b(leaseLeftMs|expiresInMs|firstAgeMs): (\d|Math\.(max|ceil))/,
  /\bresent: true/,
  /\bprocessing \+ completed/,
];
const isRule = new RegExp(rules.map(({ source }) => source).join("|"));

const rooms = ["core/", "stores/", "operations/", "console/", "cli/", "testing/"];
/** The contract tells what the words mean, in comments and types; the suites tell of each store what it has to answer. */
const home = ["core/record-machine/", "core/contract/", "testing/store-suite/", "testing/adapter-suite/"];

/** Files whose lines only look like one. */
const others: Readonly<Record<string, string>> = {
  "stores/memory/due-queue.ts": "puts moments in order, whatever they mean",
  "operations/verdict.ts": "judges a ticket by the state that the store tells",
  "console/traffic-ring.ts": "counts how requests ended",
};

test("no rule of a record is written in TypeScript outside of the record machine", () => {
  const prefix = "packages/ichido/src/";
  const begins = (path: string, folders: readonly string[]): boolean =>
    folders.some((folder) => path.startsWith(prefix + folder));
  const outside = trackedFiles()
    .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts") && !path.endsWith(".generated.ts"))
    .filter((path) => begins(path, rooms) && !begins(path, home));
  expect(outside.length).toBeGreaterThan(200);
  const isOther = (path: string): boolean => others[path.slice(prefix.length)] !== undefined;
  const found = linesMatching(outside, isRule).map((line) => line.slice(0, line.indexOf(":")));
  // An exception that is none any more goes.
  expect(Object.keys(others).filter((path) => !found.includes(prefix + path))).toEqual([]);
  expect(
    linesMatching(
      outside.filter((path) => !isOther(path)),
      isRule,
    ),
  ).toEqual([]);
});

describe("a rule is seen", () => {
  test.each([
    'state: known === "processing" && isInDoubt ? "unknown" : known,',
    'origin: "new",',
    'return origin === "lapsed" || origin === "suspended";',
    "if (record.leaseUs > nowUs) return;",
    'if (state === "processing") return "live";',
    "const lease = { state: stateSeen(lease, 0) };",
    'if (state !== "p" || live !== "live") return wake(name);',
    "return record.createdUs === nowUs && record.owner === owner;",
    "return slot !== undefined && slot.dueUs <= nowUs ? slot : undefined;",
    "if (row.expiresUs - page.nowUs < careUs) await stayed(name, row);",
    "connection.all(sweepPick, nowUs, nowUs + leaseAbsurdUs, limit);",
    "microseconds(Math.min(request.leaseMs, limits.leaseMsMax)),",
    "fenceFloor = Math.max(fenceFloor, rowOf(slot).fence);",
    "born(request, fingerprint, 0, { nowUs: fence, trusted: true, fenceFloor: 0 });",
    'return { outcome: "processing", leaseLeftMs: left, attempts: 1 };',
    'const inFlight: Ruling = { kind: "in-flight", leaseLeftMs: 1_000 };',
    "expiresInMs: Math.max(0, numberOf(expiresInMs)),",
    "...(flagOf(resent) && { resent: true as const }),",
    'originOf(optionalTextOf(a) ?? (attempts === 1 ? "new" : "")),',
    "records: processing + completed + failed + unknown,",
  ])("%s", (line) => expect(isRule.test(line)).toBe(true));

  test.each([
    "...(interim !== undefined && { interim }),",
    "leaseLeftMs: leaseLeftMs(record, nowUs),",
    'if (grant.origin === "new") keep();',
    "createdUs: usOf(numberOf(createdMs)),",
    'if (record?.state !== "processing") result = await claims.sendAgain();',
    'isLive: live === "live",',
  ])("and what passes a record on, or asks whether it is new, is none: %s", (line) =>
    expect(isRule.test(line)).toBe(false),
  );
});
