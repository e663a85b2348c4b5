/**
 * The test command.
 *
 *   npm test                 generated files, types, lint, format, core tests with coverage, all other tests
 *   npm test -- --quick      the same without crash tests
 *   npm test -- <anything>   only the tests, with the arguments given to vitest (a path, -t, --coverage, …)
 *
 * Prints the ten slowest files, and ends with a line of its own, `N passed, N failed`, in which each check counts as one.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { reapAfterDeath } from "../packages/ichido/src/testing/reaper.ts";
import { install, installRefusal, isInstalled, serviceNames } from "./services/install.ts";
import { skipNotes, slowestFiles, sum, summaryLine, tally } from "./test-counts.ts";
import type { Counts, RunnerReport } from "./test-counts.ts";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const tool = (path: string): string => join(root, "node_modules", path);
const slowestMax = 10;
const running = new Set<ChildProcess>();
let interrupted: NodeJS.Signals | undefined;

interface Part {
  readonly title: string;
  readonly counts: Counts;
  readonly seconds: number;
  readonly note?: string;
  readonly report?: RunnerReport;
}

/** Runs a tool on this Node. Quiet parts print only when they fail. */
async function node(
  args: readonly string[],
  quiet: boolean,
  extra: NodeJS.ProcessEnv = {},
): Promise<{ code: number | null; printed: string }> {
  if (interrupted !== undefined) return { code: null, printed: "" };
  const colours = process.stdout.isTTY ? { FORCE_COLOR: "1" } : { NO_COLOR: "1" };
  const child = spawn(process.execPath, args, {
    cwd: root,
    stdio: ["ignore", quiet ? "pipe" : "inherit", quiet ? "pipe" : "inherit"],
    env: { ...process.env, ...colours, ...extra },
  });
  running.add(child);
  let printed = "";
  child.stdout?.on("data", (text) => (printed += String(text)));
  child.stderr?.on("data", (text) => (printed += String(text)));
  const code = await new Promise<number | null>((resolve) => {
    child.once("error", (error) => {
      printed += String(error);
      resolve(1);
    });
    child.once("close", resolve);
  });
  running.delete(child);
  return { code, printed };
}

async function timed(title: string, work: () => Promise<Omit<Part, "title" | "seconds">>): Promise<Part> {
  const startedMs = performance.now();
  const result = await work();
  return { title, ...result, seconds: (performance.now() - startedMs) / 1000 };
}

function check(title: string, args: readonly string[], extra: NodeJS.ProcessEnv = {}): Promise<Part> {
  return timed(title, async () => {
    const { code, printed } = await node(args, true, extra);
    if (code !== 0) console.error(`\n--- ${title} ---\n${printed.trim()}\n`);
    return { counts: code === 0 ? { passed: 1, failed: 0, skipped: 0 } : { passed: 0, failed: 1, skipped: 0 } };
  });
}

/** A folder that is gone afterwards, however this process ends. */
async function inFolder<Result>(purpose: string, work: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), `ichido-${purpose}-`));
  const will = reapAfterDeath({ folder });
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    will.forget();
  }
}

/** Hundreds of tests start processes, each of which would compile the same files again: `compiled` keeps them. */
function tests(title: string, args: readonly string[], compiled?: string): Promise<Part> {
  return timed(title, () =>
    inFolder("report", async (folder) => {
      const file = join(folder, "report.json");
      const failuresFile = join(folder, "failures.json");
      const own = `--reporter=${join(root, "scripts", "failures-reporter.ts")}`;
      const reporters = ["--reporter=default", "--reporter=json", own, `--outputFile.json=${file}`];
      const conditions = ["--conditions=ichido-source", "--disable-warning=ExperimentalWarning"];
      const command = [...conditions, tool("vitest/vitest.mjs"), "run", ...reporters, ...args];
      // Coverage needs them uncompiled.
      const cache = args.includes("--coverage") ? {} : { NODE_COMPILE_CACHE: compiled ?? join(folder, "compiled") };
      const { code } = await node(command, false, { ICHIDO_FAILURES_FILE: failuresFile, ...cache });
      const report = read<RunnerReport>(file);
      const { skippedNames, ...counts } = tally(report, code);
      const failures = (read<string[]>(failuresFile) ?? []).map((line) => `failed: ${line}`);
      const note = [...skipNotes(skippedNames), ...failures].map((line) => `    ${line}`);
      return {
        counts,
        ...(note.length > 0 ? { note: note.join("\n") } : {}),
        ...(report === undefined ? {} : { report }),
      };
    }),
  );
}

function read<T>(file: string): T | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as T;
  } catch {
    return undefined;
  }
}

/** All at once and before the clock of any test runs; a server that cannot be had is reported by the tests that need it. */
async function installServers(): Promise<void> {
  if (serviceNames.every(isInstalled) || installRefusal() !== undefined) return;
  await install(serviceNames, console.log).catch((error: unknown) => console.error(String(error)));
}

async function everything(quick: boolean, compiled: string): Promise<Part[]> {
  const source = "--conditions=ichido-source";
  const shop = join(root, "apps", "shop", "test", "support", "compile-ahead.ts");
  const checks = [
    check("generated files", [join(root, "scripts", "generate.ts"), "--check"]),
    check("types", [tool("typescript/bin/tsc"), "-b"]),
    check("lint", [tool("oxlint/bin/oxlint"), "--type-aware", "--quiet"]),
    check("format", [tool("oxfmt/bin/oxfmt"), "--check", "."]),
    check("the shop, compiled ahead", [source, shop], { NODE_COMPILE_CACHE: compiled }),
  ];
  await installServers();
  const parts = await Promise.all(checks);
  parts.push(await tests("core tests with coverage", ["--coverage", "--project", "core"]));
  const left = ["--project", "!core", ...(quick ? ["--project", "!crash"] : [])];
  parts.push(await tests("all other tests", left, compiled));
  return parts;
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    interrupted = signal;
    for (const child of running) child.kill(signal);
  });
}

const { values, tokens } = parseArgs({
  options: { quick: { type: "boolean" } },
  strict: false,
  tokens: true,
  allowPositionals: true,
});
const own = new Set(
  tokens.filter((token) => token.kind === "option" && token.name === "quick").map(({ index }) => index),
);
const forVitest = process.argv.slice(2).filter((_, index) => !own.has(index));
const parts =
  forVitest.length > 0
    ? [await tests("tests", forVitest)]
    : await inFolder("compiled", (compiled) => everything(values["quick"] === true, compiled));

console.log("");
for (const { title, counts, seconds, note } of parts) {
  console.log(`${counts.failed > 0 ? "FAILED" : "ok    "}  ${title}: ${summaryLine(counts)} (${seconds.toFixed(1)} s)`);
  if (note !== undefined) console.log(note);
}
const slowest = slowestFiles(
  parts.map(({ report }) => report),
  slowestMax,
  root,
);
if (slowest.length > 0) console.log(["slowest files:", ...slowest.map((line) => `    ${line}`)].join("\n"));
if (interrupted !== undefined) console.log(`interrupted by ${interrupted}`);
const total = sum([
  ...parts.map(({ counts }) => counts),
  { passed: 0, failed: interrupted === undefined ? 0 : 1, skipped: 0 },
]);
console.log(summaryLine(total));
process.exitCode = total.failed > 0 ? 1 : 0;
