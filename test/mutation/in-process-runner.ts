/**
 * A test runner for Stryker: loads the tests of a room once and tries one mutant after the other on them, in the same
 * process. Vitest would start a worker and load everything anew for each, which costs a hundred times as much.
 */
import { globSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { basename, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { INSTRUMENTER_CONSTANTS, type MutantCoverage } from "@stryker-mutator/api/core";
import { declareClassPlugin, PluginKind, tokens } from "@stryker-mutator/api/plugin";
import {
  determineHitLimitReached,
  DryRunStatus,
  MutantRunStatus,
  TestStatus,
  type DryRunResult,
  type MutantRunOptions,
  type MutantRunResult,
  type TestResult,
  type TestRunner,
} from "@stryker-mutator/api/test-runner";
import { roomVariable, rooms } from "./rooms.ts";
import { beginFile, collected, type CollectedTest } from "./suite.ts";
import { TestRun } from "./test-run.ts";

/** How Stryker talks with the source that it has changed. */
interface Namespace {
  activeMutant?: string | undefined;
  currentTestId?: string | undefined;
  hitCount?: number | undefined;
  hitLimit?: number | undefined;
  mutantCoverage?: MutantCoverage;
}

const suiteUrl = new URL("suite.ts", import.meta.url).href;

/** `node_modules` is not copied: by name, `ichido` would be the source that is not changed. */
function addressesOf(folder: string): ReadonlyMap<string, string> {
  const { exports } = JSON.parse(readFileSync(resolve(folder, "package.json"), "utf8")) as {
    readonly exports: Readonly<Record<string, { readonly "ichido-source"?: string } | string>>;
  };
  return new Map(
    Object.entries(exports).flatMap(([name, entry]) => {
      const path = typeof entry === "string" ? undefined : entry["ichido-source"];
      return path === undefined ? [] : [[`ichido${name.slice(1)}`, pathToFileURL(resolve(folder, path)).href]];
    }),
  );
}

/** A test may take so many times as long as it should, or did before, until it counts as one that never ends. */
const slowTests = 5;

class InProcessRunner implements TestRunner {
  static readonly inject = tokens();
  readonly #namespace: Namespace;
  readonly #room = rooms[process.env[roomVariable] ?? ""];
  readonly #spentMs = new Map<string, number>();
  /** How long each took before anything was changed, where this process knows it. */
  readonly #unchangedMs = new Map<string, number>();
  #loaded: Promise<void> | undefined;

  constructor() {
    const globals = globalThis as unknown as Record<string, Namespace>;
    this.#namespace = globals[INSTRUMENTER_CONSTANTS.NAMESPACE] ??= {};
    // Left over from a mutant that was tried before, most likely: the next one must not count as noticed by it.
    for (const event of ["unhandledRejection", "uncaughtException"]) process.on(event, () => undefined);
  }

  /** What is evaluated as a file is loaded needs a process of its own. */
  capabilities(): { readonly reloadEnvironment: boolean } {
    return { reloadEnvironment: false };
  }

  async #load(): Promise<void> {
    const addresses = addressesOf("packages/ichido");
    registerHooks({
      resolve(specifier, context, next) {
        if (specifier === "vitest" && context.parentURL !== suiteUrl) return { url: suiteUrl, shortCircuit: true };
        return next(addresses.get(specifier) ?? specifier, context);
      },
    });
    for (const path of globSync([...(this.#room?.tests ?? [])]).toSorted()) {
      beginFile(path);
      await import(pathToFileURL(resolve(path)).href);
    }
  }

  async dryRun(): Promise<DryRunResult> {
    await (this.#loaded ??= this.#load());
    // Nothing is changed yet: what is slow is slow by the machine, or by itself.
    const run = new TestRun(() => this.#testMs * slowTests);
    const tests: TestResult[] = [];
    for (const test of collected) {
      this.#namespace.currentTestId = test.id;
      const startedMs = performance.now();
      const failure = await run.failureOf(test);
      this.#namespace.currentTestId = undefined;
      const timeSpentMs = performance.now() - startedMs;
      this.#unchangedMs.set(test.id, timeSpentMs);
      const told = { id: test.id, name: test.id, fileName: test.file, timeSpentMs };
      tests.push(
        failure === undefined
          ? { ...told, status: TestStatus.Success }
          : { ...told, status: TestStatus.Failed, failureMessage: failure },
      );
    }
    await run.end();
    const { mutantCoverage } = this.#namespace;
    return { status: DryRunStatus.Complete, tests, ...(mutantCoverage && { mutantCoverage }) };
  }

  get #testMs(): number {
    return this.#room?.testMs ?? 0;
  }

  async mutantRun(options: MutantRunOptions): Promise<MutantRunResult> {
    const namespace = this.#namespace;
    if (options.mutantActivation === "static") namespace.activeMutant = options.activeMutant.id;
    try {
      await (this.#loaded ??= this.#load());
    } catch (error) {
      return { status: MutantRunStatus.Killed, killedBy: ["loading"], failureMessage: String(error), nrOfTests: 0 };
    }
    namespace.activeMutant = options.activeMutant.id;
    namespace.hitCount = 0;
    namespace.hitLimit = options.hitLimit;
    const run = new TestRun(({ id }) => Math.max(this.#testMs, slowTests * (this.#unchangedMs.get(id) ?? 0)));
    try {
      const result = await this.#tryAll(run, this.#ordered(options));
      return determineHitLimitReached(namespace.hitCount, options.hitLimit) === undefined
        ? result
        : { status: MutantRunStatus.Timeout };
    } finally {
      await run.end();
      namespace.activeMutant = undefined;
    }
  }

  /** A test that fails is tried again: one that fails by the machine's fault must not count. */
  async #tryAll(run: TestRun, tests: readonly CollectedTest[]): Promise<MutantRunResult> {
    for (const [at, test] of tests.entries()) {
      const startedMs = performance.now();
      const failure = (await run.failureOf(test)) && (await run.failureOf(test));
      this.#spentMs.set(test.id, performance.now() - startedMs);
      if (failure === undefined) continue;
      return { status: MutantRunStatus.Killed, killedBy: [test.id], failureMessage: failure, nrOfTests: at + 1 };
    }
    return { status: MutantRunStatus.Survived, nrOfTests: tests.length };
  }

  /** The tests of the file itself first, then the quick ones: the first that fails ends it. */
  #ordered({ testFilter, sandboxFileName }: MutantRunOptions): readonly CollectedTest[] {
    const wanted = new Set(testFilter);
    const own = basename(sandboxFileName, ".ts");
    const rank = ({ file, id }: CollectedTest): number =>
      basename(file).startsWith(own) ? -1 : (this.#spentMs.get(id) ?? 0);
    return collected
      .filter(({ id }) => testFilter === undefined || wanted.has(id))
      .toSorted((one, other) => rank(one) - rank(other));
  }
}

export const strykerPlugins = [declareClassPlugin(PluginKind.TestRunner, "in-process", InProcessRunner)];
