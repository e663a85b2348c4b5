/**
 * A reporter for the test command: writes down what failed, also what no test can be blamed for (an error thrown after its
 * test had ended), so that the command can repeat it below its figures, where a reader of a long log looks first.
 */
import { writeFileSync } from "node:fs";
import type { Reporter, TestModule } from "vitest/node";

type Failure = Parameters<NonNullable<Reporter["onTestRunEnd"]>>[1][number];

const indented = (text: string): string => text.trim().replaceAll("\n", "\n      ");

function described(error: Failure): string {
  const where = [error["VITEST_TEST_PATH"], error["VITEST_TEST_NAME"]]
    .filter((part) => typeof part === "string")
    .join(" > ");
  const trace = error.stack ?? `${error.name ?? "Error"}: ${error.message}`;
  return `unhandled${where === "" ? "" : ` in ${where}`}: ${indented(trace)}`;
}

function failedTests(module: TestModule): string[] {
  const tests = [...module.children.allTests("failed")].map((test) => {
    const { errors } = test.result();
    return `${module.relativeModuleId} > ${test.fullName}: ${indented(errors?.[0]?.message ?? "")}`;
  });
  const broken = module.errors().map((error) => `${module.relativeModuleId}: ${indented(error.message)}`);
  return [...tests, ...broken];
}

export default class FailuresReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly Failure[]): void {
    const file = process.env["ICHIDO_FAILURES_FILE"];
    if (file === undefined) return;
    const failures = [...modules.flatMap(failedTests), ...unhandled.map(described)];
    writeFileSync(file, JSON.stringify(failures));
  }
}
