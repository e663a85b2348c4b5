import { describe, expect, test } from "vitest";
import { read, trackedFiles } from "./tracked.ts";

const chance = "random(Bytes|UUID|Int|Fill|FillSync)";

/** What a simulation could not give: real clocks, timers and chance. By any name under which they can be had. */
const outside = new RegExp(
  [
    "\\bDate\\s*\\.\\s*now\\b",
    // With something in the brackets it is no clock.
    "\\bnew\\s+Date\\b(?!\\s*\\(\\s*[^)\\s])",
    "(?<!\\bnew\\s+)\\bDate\\s*\\(",
    "\\bperformance\\b",
    "\\bset(Timeout|Interval|Immediate)\\b",
    '"(node:)?timers(/promises)?"',
    "\\bAbortSignal\\s*\\.\\s*timeout\\b",
    "\\bhrtime\\b|\\bprocess\\s*\\.\\s*uptime\\b|\\bscheduler\\s*\\.\\s*(wait|yield)\\b",
    "\\bMath\\s*\\.\\s*random\\b",
    "\\bgetRandomValues\\b",
    "\\bcrypto\\s*(\\??\\.\\s*random|(\\?\\.)?\\[)",
    // Of an environment it is asked by a dot. A line of an import that goes over several has none.
    `(?<![."])\\b${chance}\\b`,
    'import\\s+(\\*\\s+as\\s+)?\\w+\\s+from\\s+"(node:)?crypto"',
    // The real environment itself. To import it is not to use it, but for under another name.
    "^(?!import\\b).*\\bsystemEnvironment\\b|\\bsystemEnvironment\\s+as\\b",
    // Under another name, or taken apart.
    "=\\s*(globalThis\\s*\\.\\s*)?(Date|Math|crypto|AbortSignal)\\s*;?$",
  ].join("|"),
);

const isComment = (line: string): boolean => /^(\/\/|\/\*|\*)/.test(line);

const linesOutside = (text: string): readonly string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => !isComment(line) && outside.test(line));

const simulated = ["core", "outbox", "inbox", "client"];

interface Exception {
  readonly why: string;
  readonly lines: readonly string[];
}

/** Lines that use them all the same, and why. One that is no longer there is taken off. */
const exceptions: Readonly<Record<string, Exception>> = {
  "core/contract/environment.ts": {
    why: "it is what the others are given",
    lines: [
      'import { randomBytes } from "node:crypto";',
      "randomBytes(length: number): Uint8Array;",
      "export const systemEnvironment: Environment = {",
      "monotonicMs: () => performance.now(),",
      "wallMs: () => Date.now(),",
      "randomBytes: (length) => new Uint8Array(randomBytes(length)),",
      "const timer = setTimeout(run, delayMs);",
    ],
  },
  "core/contract/read-options.ts": {
    why: "the default of the option `environment` of whatever has one beside the engine",
    lines: ["export const environment: OptionReader<Environment> = given(systemEnvironment);"],
  },
  "core/contract/uuid.ts": {
    why: "browsers too: random bytes from the platform, no decision hangs on them",
    lines: [
      "const platform = { randomBytes: (length: number): Uint8Array => crypto.getRandomValues(new Uint8Array(length)) };",
    ],
  },
  "core/engine/forgetting.ts": {
    why: "the deadlines of calls to a store that comes by itself; of an engine they are its own",
    lines: ["const calls = callsOf(holder, { environment: systemEnvironment, emit: () => undefined });"],
  },
  "core/engine/settlement.ts": {
    why: "the same",
    lines: ["const calls = callsOf(holder, { environment: systemEnvironment, emit: () => undefined });"],
  },
  "core/engine/validate-options.ts": {
    why: "the default of the engine's option `environment`",
    lines: ["environment: options.environment ?? systemEnvironment,"],
  },
  "core/request/record-handle.ts": {
    why: "a secret of this process for handles, where none is given: no decision hangs on it",
    lines: ['environment: Pick<Environment, "randomBytes"> = systemEnvironment,'],
  },
  "client/clock.ts": {
    why: "it is what the client is given",
    lines: [
      "const timer = setTimeout(done, ms);",
      "nowMs: () => Date.now(),",
      "elapsedMs: () => performance.now(),",
      "random: Math.random,",
    ],
  },
  "client/delivery.ts": {
    why: "the time-out of one request: a caller's clock may let pauses pass at once, which must not end a request",
    lines: [
      "const timer = setTimeout(() => limit.abort(new Error(`no answer in ${Math.round(callTimeoutMs)} ms`)), callTimeoutMs);",
    ],
  },
  "client/key-source.ts": {
    why: "defaults of a key that the caller did not choose",
    lines: [
      "export function uuidV7(nowMs: number = Date.now()): string {",
      "const { principal, atMs = Date.now(), random = hex(crypto.getRandomValues(new Uint8Array(8))) } = parts;",
    ],
  },
  "client/lock-file.ts": {
    why: "files of other processes: their times are the file system's",
    lines: [
      'import { setTimeout as sleep } from "node:timers/promises";',
      "return { mark: `${ino}-${birthtimeMs}-${mtimeMs}`, ageMs: Date.now() - mtimeMs };",
      "const giveUpMs = performance.now() + waitMs;",
      "else if (performance.now() > giveUpMs) {",
    ],
  },
  "client/node.ts": {
    why: "the name of a file beside the one that is replaced",
    lines: [
      'import { randomBytes } from "node:crypto";',
      'const beside = `${file}.${randomBytes(6).toString("hex")}.tmp`;',
    ],
  },
  "outbox/wake-channel.ts": {
    why: "connects again to a real PostgreSQL, whose driver has timers of its own",
    lines: [
      "const rest = new Promise((resolve) => setTimeout(resolve, gatherMs).unref());",
      "timer = setTimeout(() => {",
    ],
  },
};

const prefix = "packages/ichido/src/";

test("what is simulated takes clocks, timers and chance from its environment alone", () => {
  const inSource = trackedFiles()
    .filter((path) => path.startsWith(prefix) && path.endsWith(".ts") && !path.endsWith(".test.ts"))
    .filter((path) => simulated.includes(path.slice(prefix.length).split("/")[0] ?? ""));
  const found = Object.fromEntries(
    inSource
      .map((path) => [path.slice(prefix.length), linesOutside(read(path))] as const)
      .filter(([, lines]) => lines.length > 0),
  );
  expect(found).toEqual(Object.fromEntries(Object.entries(exceptions).map(([path, { lines }]) => [path, lines])));
});

describe("clocks, timers and chance are seen", () => {
  test.each([
    "const at = Date.now();",
    "const at = new Date();",
    "const at = new Date;",
    "const at = +new Date",
    "const at = Date();",
    "const { now } = Date;",
    "const { now } = performance;",
    "setTimeout: sleep,",
    'import { scheduler } from "node:timers/promises";',
    "const signal = AbortSignal.timeout(5);",
    "const id = crypto.randomUUID();",
    "const bytes = crypto.randomBytes(16);",
    "const id = globalThis.crypto?.randomUUID();",
    'import {\n  createHash,\n  randomBytes,\n} from "node:crypto";',
    'import { randomInt as draw } from "node:crypto";',
    'import * as chance from "node:crypto";',
    "const { random } = Math;",
    "const began = process.hrtime();",
    'const id = crypto["randomUUID"]();',
    "const calls = callsOf(holder, { environment: systemEnvironment, emit });",
    'import { systemEnvironment as real } from "../contract/environment.ts";',
  ])("%s", (line) => expect(linesOutside(line)).toHaveLength(1));

  test.each([
    "const bytes = environment.randomBytes(8);",
    "const at = new Date(wallMs).toISOString();",
    'import { systemEnvironment, type Environment } from "../contract/environment.ts";',
    "environment.after(delayMs, run);",
    "/** Not `crypto.randomUUID`: that exists in secure contexts only. */",
    'import { createHash } from "node:crypto";',
  ])("and others are not: %s", (line) => expect(linesOutside(line)).toEqual([]));
});
