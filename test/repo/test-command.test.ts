import { execFile } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, matchesGlob } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { skipNotes, slowestFiles, sum, summaryLine, tally } from "../../scripts/test-counts.ts";
import { slowest } from "../support/slow-first.ts";
import { projects } from "../../vitest.config.ts";
import { linesMatching, root, trackedFiles } from "./tracked.ts";

interface Ended {
  readonly code: number;
  readonly lines: readonly string[];
}

async function run(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd = root,
): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { cwd, env: { ...process.env, ...env } };
    execFile(program, args, options, (error, stdout) => {
      const code = typeof error?.code === "number" ? error.code : error === null ? 0 : 1;
      resolve({ code, lines: stdout.trimEnd().split("\n") });
    });
  });
}

describe("the test command", () => {
  const sample = join(root, "test/repo/sample");
  const testCommand = (kind: string, ...args: readonly string[]): Promise<Ended> =>
    run(
      process.execPath,
      ["--conditions=ichido-source", "scripts/launch.mjs", "scripts/test.ts", "--root", sample, ...args],
      { SAMPLE: kind },
    );

  test("knows its slowest files by the names they have", () => {
    expect(slowest.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });

  test("ends with its own count, after the names of what was skipped and the slowest files", async () => {
    const { code, lines } = await testCommand("pass");
    expect(lines).toContain("    skipped: waits");
    const at = lines.indexOf("slowest files:");
    expect(lines[at + 1]).toMatch(/^ *\d+\.\d s  .*sample\.case\.ts$/);
    expect(lines.at(-1)).toBe("2 passed, 0 failed, 3 skipped");
    expect(code).toBe(0);
  });

  test.each([
    ["a failing test", "fail", "2 passed, 1 failed, 2 skipped"],
    ["an unhandled rejection", "unhandled", "3 passed, 1 failed, 2 skipped"],
    ["a file that cannot be loaded", "broken", "0 passed, 1 failed"],
  ])("%s makes it fail", async (_title, kind, line) => {
    const { code, lines } = await testCommand(kind);
    expect(lines.at(-1)).toBe(line);
    expect(code).toBe(1);
  });

  test("no test found is a failure, not a success", async () => {
    const { code, lines } = await testCommand("pass", "no-such-file");
    expect(lines.at(-1)).toBe("0 passed, 1 failed");
    expect(code).toBe(1);
  });
});

test("each test has one try, under CI too: one that fails now and then may be an effect that happens twice", async () => {
  vi.stubEnv("CI", "true");
  const { default: config, projects } = await import("../../vitest.config.ts");
  vi.unstubAllEnvs();
  expect(config.test?.retry ?? 0).toBe(0);
  expect(projects.flatMap(({ test: settings }) => Object.keys(settings))).not.toContain("retry");
});

describe("files of tests", () => {
  const isIn = (patterns: readonly string[], file: string): boolean =>
    patterns.some((pattern) => matchesGlob(file, pattern));
  const projectsOf = (file: string) =>
    projects.filter(({ test: { include, exclude } }) => isIn(include, file) && !isIn(exclude, file));

  test("each is run, and once", () => {
    const files = trackedFiles().filter((path) => path.endsWith(".test.ts"));
    expect(files.length).toBeGreaterThan(200);
    expect(files.filter((file) => projectsOf(file).length !== 1)).toEqual([]);
  });

  test("a module registers hooks only beside files with a process each: it is loaded once a process", () => {
    const modules = trackedFiles().filter((path) => /\.tsx?$/.test(path) && !path.endsWith(".test.ts"));
    const found = linesMatching(modules, /^(before|after)(Each|All)\(/);
    expect(found.filter((line) => !/^(apps\/shop\/test|test\/client)\//.test(line))).toEqual([]);
    for (const file of ["apps/shop/test/new.test.ts", "test/client/new.test.ts"]) {
      expect(projectsOf(file).map(({ test: { isolate } }) => isolate)).toEqual([true]);
    }
  });
});

describe("counting", () => {
  test("a run that ended badly is a failure although every test passed", () => {
    const report = {
      testResults: [{ name: "a", status: "passed", assertionResults: [{ status: "passed", fullName: "t" }] }],
    };
    expect(tally(report, 0)).toMatchObject({ passed: 1, failed: 0 });
    expect(tally(report, 1)).toMatchObject({ passed: 1, failed: 1 });
    expect(tally(undefined, null)).toMatchObject({ passed: 0, failed: 1 });
  });

  test("tells a reason that many skipped tests share once", () => {
    const names = ["a [skipped: no clock]", "b [skipped: no clock]", "c SKIPPED: no server", "d"];
    expect(skipNotes(names)).toEqual(["skipped: 2 tests, no clock", "skipped: c SKIPPED: no server", "skipped: d"]);
  });

  test("the slowest files come first, and no more of them than asked for", () => {
    const file = (name: string, startTime: number, endTime: number) => ({
      name: join(root, name),
      status: "passed",
      assertionResults: [],
      startTime,
      endTime,
    });
    const testResults = [file("a.test.ts", 0, 500), file("b.test.ts", 100, 2_600), file("c.test.ts", 0, 61_000)];
    expect(slowestFiles([{ testResults }, undefined], 2, root)).toEqual(["61.0 s  c.test.ts", " 2.5 s  b.test.ts"]);
  });

  test("adds up", () => {
    const parts = [
      { passed: 1, failed: 0, skipped: 2 },
      { passed: 3, failed: 1, skipped: 0 },
    ];
    expect(summaryLine(sum(parts))).toBe("4 passed, 1 failed, 2 skipped");
  });
});

describe(".ci/run", () => {
  let place: string;

  beforeEach(() => {
    place = mkdtempSync(join(tmpdir(), "ichido-ci-"));
    mkdirSync(join(place, "bin"));
  });
  afterEach(() => rmSync(place, { recursive: true, force: true }));

  /** Runs the script with an npm that does what the test says. */
  async function ci(npm: string): Promise<Ended> {
    const file = join(place, "bin", "npm");
    writeFileSync(file, `#!/bin/sh\n${npm}\n`);
    chmodSync(file, 0o755);
    const path = `${join(place, "bin")}${delimiter}${process.env["PATH"] ?? ""}`;
    return run(join(root, ".ci/run"), [], { PATH: path });
  }

  test("installs, tests with CI=true and ends with the count", async () => {
    const { code, lines } = await ci('echo "npm $1 CI=$CI"; [ "$1" = ci ] || echo "7 passed, 0 failed, 1 skipped"');
    expect(lines).toContain("npm ci CI=true");
    expect(lines).toContain("npm test CI=true");
    expect(lines.at(-1)).toBe("7 passed, 0 failed, 1 skipped");
    expect(code).toBe(0);
  });

  test("keeps the count last when npm complains after it", async () => {
    const { code, lines } = await ci('[ "$1" = ci ] && exit 0; echo "6 passed, 1 failed"; echo "npm error"; exit 1');
    expect(lines.at(-1)).toBe("6 passed, 1 failed");
    expect(code).toBe(1);
  });

  test("an installation that fails counts as a failure", async () => {
    const { code, lines } = await ci("exit 9");
    expect(lines.at(-1)).toBe("0 passed, 1 failed");
    expect(code).toBe(9);
  });

  test("a command that fails after a clean count counts as a failure", async () => {
    const { code, lines } = await ci('[ "$1" = ci ] && exit 0; echo "6 passed, 0 failed"; exit 3');
    expect(lines.at(-1)).toBe("6 passed, 1 failed");
    expect(code).toBe(3);
  });

  test("silence is not success", async () => {
    const { code, lines } = await ci("exit 0");
    expect(lines.at(-1)).toBe("0 passed, 1 failed");
    expect(code).toBe(1);
  });
});
