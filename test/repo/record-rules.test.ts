import { describe, expect, test } from "vitest";
import { linesMatching, trackedFiles } from "./tracked.ts";

/** What only a rule of a record would say. */
const rules = [
  // What is in doubt, and how a record was come by.
  /\borigin: "(new|failed|lapsed|suspended)"/,
  /\borigin [!=]== "(failed|lapsed|suspended)"/,
  /\? "(unknown|new)" :/,
  /\bstateSeen\(/,
  /!== "live"/,
  // Whether a lease lives, a record is due or was just made: moments that are compared, bounds and fences.
  /\b(lease|expires|created|updated|due)Us ([<>]=?|[!=]==|-) (?!undefined)/,
  /([<>]=?|[!=]==) [\w.]*\b(lease|expires|created|updated|due)Us\b/,
  /\bleaseAbsurdUs\b/,
  /\bMath\.min\([\w.]*\bleaseMs\b/,
  /\bMath\.max\(.*[fF]ence/,
  /\bborn\([^)]*, 0, \{/,
  // What a look at a record tells: its state, the sign of what is left of its lease, a hold, whose it is and since when.
  /\bstate [!=]== "(completed|failed|unknown|processing|started)"/,
  /\bexpiresAtMs - [\w.]*createdAtMs\b/,
  /\bleaseLeftMs(( \?\? \d+)?\))? ([<>]=?|[!=]==) (?!null|undefined)/,
  /\bleaseLeftMs [!=]== undefined/,
  /[!-]([\w.?]+\.)?leaseLeftMs\b/,
  /[\w)]\??\.holdReason [!=]== undefined/,
  /\bif \(holdReason [!=]== undefined\)/,
  /\b(holdReason|interim) !== undefined \|\|/,
  /\|\| [\w.?]*\b(holdReason|interim) !== undefined/,
  /\borigin = "\w/,
  /\? "(failed|lapsed|suspended)" :/,
  /\bowners\.has\(record\./,
  /\bfence\)? ([<>]=?|[!=]==) (?!undefined|null|"|\d)/,
  /((?<!=)[<>]=?|[!=]==) [\w.?]*\b[fF]ence\b/,
  // What a claim is answered, and how a record and its sizes are shown.
  /\boutcome: "(processing|mismatch)"/,
  /\b(leaseLeftMs|expiresInMs|firstAgeMs): (\d|Math\.(max|ceil))/,
  /\bresent: true/,
  /\bprocessing \+ completed/,
];
const isRule = new RegExp(rules.map(({ source }) => source).join("|"));

/** The contract tells what the words mean, in comments and types; the suites tell of each store what it has to answer. */
const home = ["core/record-machine/", "core/contract/", "testing/store-suite/", "testing/adapter-suite/"];
/** They know answers, and no records. */
const apart = ["client/", "react/"];

/** Lines that only look like one. */
const others: readonly (readonly [path: string, line: RegExp, why: string])[] = [
  ["stores/memory/due-queue.ts", /dueUs/, "puts moments in order, whatever they mean"],
  ["stores/memory/packed-row.ts", /=== "completed" && .* isPlain/, "chooses how a row lies in memory"],
  ["stores/sqlite/row.ts", /^response: state === "completed"/, "spares the reading of a column that holds nothing"],
  ["stores/sqlite/listing.ts", /stateWritten\(query\.state\)/, "puts a query in the words of a statement"],
  ["stores/postgres/listing.ts", /state !== undefined && state !== /, "chooses an index for a query"],
  ["operations/verdict.ts", /\bstate [!=]== "/, "judges a ticket by the state that the store tells"],
  ["operations/why.ts", /record\.state !== "completed"/, "tells of a ticket by the state that the store tells"],
  ["operations/sentence.ts", /state !== "completed"/, "tells of a ticket by the state that the store tells"],
  ["operations/left-open.ts", /record\.state === "unknown"/, "says which runs are drawn as open"],
  ["console/traffic-ring.ts", /isOpen \? "unknown"/, "counts how requests ended"],
  ["cli/history-view.ts", /state === "started"/, "chooses a colour"],
  ["cli/record-view.ts", /state === "(unknown|completed)"/, "says a state in words"],
];

test("no rule of a record is written in TypeScript outside of the record machine", () => {
  const prefix = "packages/ichido/src/";
  const begins = (path: string, folders: readonly string[]): boolean =>
    folders.some((folder) => path.startsWith(prefix + folder));
  const outside = trackedFiles()
    .filter((path) => path.startsWith(prefix) && path.endsWith(".ts"))
    .filter((path) => !path.endsWith(".test.ts") && !path.endsWith(".generated.ts"))
    .filter((path) => !begins(path, [...home, ...apart]));
  for (const room of ["core/", "stores/", "outbox/", "inbox/", "adapters/", "console/", "cli/"])
    expect(outside.some((path) => begins(path, [room]))).toBe(true);
  expect(outside.length).toBeGreaterThan(400);
  const found = linesMatching(outside, isRule);
  const isOther = (line: string, [path, looks]: (typeof others)[number]): boolean =>
    line.startsWith(`${prefix}${path}:`) && looks.test(line.replace(/^\S+:\d+: /, ""));
  expect(found.filter((line) => !others.some((other) => isOther(line, other)))).toEqual([]);
  // An exception that is none any more goes.
  expect(others.filter((other) => !found.some((line) => isOther(line, other)))).toEqual([]);
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
    'if (record?.state === "completed" && record.response !== undefined) return replay(record.response);',
    'if (isUndone && (record === undefined || record.state === "failed")) return unavailable();',
    'if (record?.state !== "processing") result = await claims.sendAgain();',
    'settle: state === "unknown" && may(asked, "settle"),',
    "if ((record?.leaseLeftMs ?? 0) > 0) return inFlight(record?.leaseLeftMs ?? 0);",
    "if (record === undefined || !record.leaseLeftMs) return;",
    "if (leaseLeftMs === undefined) return undefined;",
    'if (leaseLeftMs === 0) return "ended";',
    "return leaseLeftMs > 0 ? `${leaseLeftMs} left` : `lapsed ${-leaseLeftMs} ago`;",
    "if (-leaseLeftMs >= olderThanMs) return true;",
    'const isFinal = route.onUnknown === "hold" || record?.holdReason !== undefined;',
    "return interim !== undefined || holdReason !== undefined;",
    "if (record.holdReason === undefined) return;",
    "if (holdReason !== undefined) return false;",
    "if (!owners.has(record.owner)) return;",
    'const { owner, fence, origin = "lapsed" } = record;',
    'await giveBack(claim, isOurs ? "lapsed" : origin);',
    "await giveBack(claim, owners.get(owner) === fence ? found : origin);",
    'if (former !== undefined && former.fence > outcome.fence) return "overtaken";',
    'if ((await calls.find(identity))?.fence !== record.fence) return "overtaken";',
    "if (record.fence !== body.fence) throw changed(asked, record);",
    'const unmet = steps.filter((step) => step.state === "started");',
    "replays.put(ask, response, grant.expiresAtMs - grant.createdAtMs);",
  ])("%s", (line) => expect(isRule.test(line)).toBe(true));

  test.each([
    "...(interim !== undefined && { interim }),",
    "leaseLeftMs: leaseLeftMs(record, nowUs),",
    'if (grant.origin === "new") keep();',
    "createdUs: usOf(numberOf(createdMs)),",
    'isLive: live === "live",',
    "leaseLeftMs: record.leaseLeftMs,",
    'if (record?.interim !== undefined) return { kind: "unknown", interim: record.interim };',
    "...(holdReason === undefined ? {} : { holdReason }),",
    "leaseUs: leaseLeftMs === null ? 0 : leaseEndUs(numberOf(leaseLeftMs), momentUs),",
    'if (typeof fence === "number" && Number.isSafeInteger(fence) && fence >= 0) return fence;',
    'return fence === undefined ? "absent" : calls.settle({ identity, fence });',
    "numberArray(requests.map(({ fence }) => fence)),",
    'if (step?.state === "finished") return step.result;',
  ])("and what passes a record on, or asks whether it is new, is none: %s", (line) =>
    expect(isRule.test(line)).toBe(false),
  );
});
