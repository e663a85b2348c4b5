/** Runs collected tests, one after the other. */
import { vi, type CollectedTest, type Suite } from "./suite.ts";

const turnMs = 100;
const hookTurnsMax = 100;

/**
 * Time is counted by turns of the event loop: a process that stands still, or hardly gets a turn on a busy machine, has had
 * no time, and slow must not count as noticed.
 */
function withinTurns(work: Promise<unknown>, turnsMax: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
      if (turns < turnsMax) return;
      clearInterval(timer);
      reject(new Error(`did not end within ${turnsMax * turnMs} ms`));
    }, turnMs);
    work.then(() => resolve(), reject).finally(() => clearInterval(timer));
  });
}

function withParents(suite: Suite): Suite[] {
  return suite.parent === undefined ? [suite] : [...withParents(suite.parent), suite];
}

export class TestRun {
  readonly #testMs: (test: Pick<CollectedTest, "id">) => number;
  readonly #entered = new Set<Suite>();

  /** `testMs`: when it is given up. */
  constructor(testMs: (test: Pick<CollectedTest, "id">) => number) {
    this.#testMs = testMs;
  }

  /** Undefined: it passed. */
  async failureOf(test: CollectedTest): Promise<string | undefined> {
    try {
      await withinTurns(this.#run(test), Math.ceil(this.#testMs(test) / turnMs));
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    } finally {
      vi.restoreAllMocks();
      vi.unstubAllGlobals();
    }
  }

  async #run({ suite, body }: CollectedTest): Promise<void> {
    const suites = withParents(suite);
    for (const each of suites) {
      if (this.#entered.has(each)) continue;
      this.#entered.add(each);
      for (const hook of each.beforeAll) await hook();
    }
    for (const each of suites) for (const hook of each.before) await hook();
    try {
      await body();
    } finally {
      for (const each of suites.toReversed()) for (const hook of each.after.toReversed()) await hook();
    }
  }

  /** What the suites that were entered leave behind. */
  async end(): Promise<void> {
    const hooks = [...this.#entered].toReversed().flatMap(({ afterAll }) => afterAll.toReversed());
    for (const hook of hooks) {
      await withinTurns(Promise.resolve().then(hook), hookTurnsMax).catch(() => undefined);
    }
    this.#entered.clear();
  }
}
