/** A short run with every test; `npm run chaos -- --store … --seconds 60` is the long one, and has the other stores. */
import { describe, expect, test } from "vitest";
import { crashesIn, textOf, type Report } from "../../chaos/report.ts";
import { run } from "../../chaos/run.ts";
import type { StoreName } from "../../chaos/setup.ts";
import type { Control } from "../../chaos/stage.ts";

const seconds = 15;
const controlSeconds = 8;
/** A control goes wrong by chance: where it was lucky it is tried again. */
const triesMax = 4;
const withinMs = 900_000;

const seedNow = (): number => Math.floor(Math.random() * 2 ** 31);

async function runOn(store: StoreName): Promise<Report> {
  const report = await run({ store, seconds, seed: seedNow(), control: "none", servers: 3, callers: 10 });
  console.log(textOf(report));
  return report;
}

/**
 * Without its fence, ichido goes wrong too seldom in so few seconds: that control is for long runs, and what each
 * comparison of a fence is there for is shown by the mutants of the simulation.
 */
async function runControl(store: StoreName, control: Control): Promise<readonly string[]> {
  for (let tries = 1; ; tries += 1) {
    const { violations } = await run({
      store,
      seconds: controlSeconds,
      seed: seedNow(),
      control,
      // What shows it, and nothing that keeps it from being shown.
      only: ["kill", "pause", "block", "clock-store"],
      servers: 3,
      callers: 10,
    });
    const seen = violations.map(({ invariant }) => invariant);
    if (seen.includes("effect-doubled") || tries === triesMax) return seen;
  }
}

// Most of a run is waiting: side by side they take as long as one.
describe.concurrent("chaos", () => {
  test.each(["sqlite", "postgres"] as const)(
    "I1 I2 I3 I8 I9 I17 on %s every answer that was given is true, kept and of one effect, whatever goes wrong",
    async (store) => {
      const { violations, vacuous, troubles } = await runOn(store);
      expect(violations).toEqual([]);
      expect(crashesIn(troubles)).toEqual([]);
      expect(vacuous).toEqual([]);
    },
    withinMs,
  );

  test.each(["sqlite", "postgres"] as const)(
    "I19 on %s it sees what a middleware does that looks first and runs then",
    async (store) => {
      expect(await runControl(store, "naive")).toContain("effect-doubled");
    },
    withinMs,
  );
});
