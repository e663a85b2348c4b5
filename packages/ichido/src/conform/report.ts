/** A report for people, for programs and for CI. */
import type { CaseResult, ConformReport } from "./runner.ts";

const words = { passed: "pass", failed: "FAIL", "not-run": "-" } as const;

function indented(label: string, text: string): readonly string[] {
  return text.split("\n").map((line, index) => `    ${(index === 0 ? label : "").padEnd(9)} ${line}`);
}

function rowOf(result: CaseResult, width: number): string {
  const { id, title, level, outcome, reason } = result;
  const word = outcome === "failed" && level === "should" ? "differs" : words[outcome];
  return `${id.padEnd(width)}  ${word.padEnd(7)}  ${title}${reason === undefined ? "" : ` (${reason})`}`;
}

function failureLines({ failure, reference }: CaseResult): readonly string[] {
  if (failure === undefined) return [];
  return [
    ...indented("request", failure.request),
    ...indented("expected", failure.expected),
    ...indented("seen", failure.seen),
    ...indented("see", reference),
  ];
}

export function reportTable(report: ConformReport): string {
  const width = Math.max(2, ...report.results.map(({ id }) => id.length));
  const ran = report.results.filter(({ outcome }) => outcome !== "not-run");
  const notRun = report.results.filter(({ outcome }) => outcome === "not-run");
  const differs = report.results.filter(({ outcome, level }) => outcome === "failed" && level === "should").length;
  return [
    `${report.url}  profile ${report.profile}${report.policyRead ? " (from its policy)" : ""}  ${report.requests} requests${report.effectsCounted ? "" : "  (effects not counted: no counter was described)"}`,
    "",
    ...ran.flatMap((result) => [rowOf(result, width), ...failureLines(result)]),
    ...(notRun.length === 0 ? [] : ["", "Not run:", ...notRun.map((result) => rowOf(result, width))]),
    "",
    `${report.passed} passed, ${report.failed - differs} failed, ${differs} differ, ${report.notRun} not run`,
    "",
  ].join("\n");
}

function xml(text: string): string {
  return (
    text
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
      .replaceAll('"', "&quot;")
      // oxlint-disable-next-line no-control-regex -- XML 1.0 has no way to write these
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "?")
  );
}

function testCase(result: CaseResult): string {
  const { id, title, outcome, reason, level, failure, durationMs } = result;
  const open = `  <testcase classname="conform.${level}" name="${xml(`${id} ${title}`)}" time="${durationMs / 1000}"`;
  if (outcome === "passed") return `${open}/>`;
  if (outcome === "not-run") return `${open}><skipped message="${xml(reason ?? "")}"/></testcase>`;
  const text = failureLines(result).join("\n");
  return `${open}><failure message="${xml(`expected ${failure?.expected ?? ""}`)}">${xml(text)}</failure></testcase>`;
}

export function reportJunit(report: ConformReport): string {
  const { results, failed, notRun } = report;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuite name="${xml(`ichido conform ${report.url} ${report.profile}`)}" tests="${results.length}" failures="${failed}" skipped="${notRun}">`,
    ...results.map(testCase),
    "</testsuite>",
    "",
  ].join("\n");
}
