import { relative } from "node:path";

/** How many tests passed, failed and were skipped, from the report of the test runner. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** The part of the runner's JSON report that is read here. */
export interface RunnerReport {
  readonly testResults?: readonly {
    readonly name: string;
    readonly status: string;
    readonly message?: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
    readonly startTime?: number;
    readonly endTime?: number;
  }[];
}

export interface Tally extends Counts {
  readonly skippedNames: readonly string[];
}

/** A run that ended badly counts as a failure even where every test it reported passed, or where it reported nothing. */
export function tally(report: RunnerReport | undefined, exitCode: number | null): Tally {
  const files = report?.testResults ?? [];
  const tests = files.flatMap((file) => file.assertionResults);
  const passed = tests.filter((test) => test.status === "passed").length;
  const failedTests = tests.filter((test) => test.status === "failed").length;
  const broken = files.filter(
    (file) => file.status === "failed" && !file.assertionResults.some((test) => test.status === "failed"),
  ).length;
  const failed = failedTests + broken;
  const skippedNames = tests
    .filter((test) => test.status !== "passed" && test.status !== "failed")
    .map((test) => test.fullName);
  return { passed, failed: failed === 0 && exitCode !== 0 ? 1 : failed, skipped: skippedNames.length, skippedNames };
}

/** One line for every skipped test, but one for all that were skipped for the same stated reason. */
export function skipNotes(names: readonly string[]): string[] {
  const groups = Map.groupBy(names, (name) => /skipped: ?(.+?)\]?$/i.exec(name)?.[1] ?? name);
  return [...groups].map(([reason, members]) =>
    members.length === 1 ? `skipped: ${members[0]}` : `skipped: ${members.length} tests, ${reason}`,
  );
}

/** One line for each of the files that took longest, over several reports. */
export function slowestFiles(reports: readonly (RunnerReport | undefined)[], most: number, root: string): string[] {
  const files = reports
    .flatMap((report) => report?.testResults ?? [])
    .map(({ name, startTime = 0, endTime = 0 }) => ({ name: relative(root, name), ms: endTime - startTime }))
    .toSorted((some, other) => other.ms - some.ms)
    .slice(0, most)
    .map(({ name, ms }) => ({ name, seconds: (ms / 1000).toFixed(1) }));
  const width = Math.max(0, ...files.map(({ seconds }) => seconds.length));
  return files.map(({ name, seconds }) => `${seconds.padStart(width)} s  ${name}`);
}

export function sum(counts: readonly Counts[]): Counts {
  return counts.reduce(
    (total, next) => ({
      passed: total.passed + next.passed,
      failed: total.failed + next.failed,
      skipped: total.skipped + next.skipped,
    }),
    { passed: 0, failed: 0, skipped: 0 },
  );
}

/** The last line of the test command, alone on its line. */
export function summaryLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}
