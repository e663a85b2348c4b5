/** A run of `npm run bench:growth` stays below its bound, and goes on where the last one ended. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { nameOf, storeNames } from "../../bench/growth/level.ts";
import { levelsOf } from "../../bench/growth/plan.ts";
import { runSecondsMax, scheduleOf, type Plan } from "../../bench/growth/run.ts";
import { clean, State } from "../../bench/growth/state.ts";

const plan: Plan = {
  levels: levelsOf({ stores: storeNames }),
  times: { seconds: 20, callers: 64 },
  fillOnly: false,
};
const filled = { bytes: { all: 1 }, seconds: 1 };

function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "ichido-growth-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test("each run stays below its bound, and all of them together do everything once", () => {
  const folder = freshFolder();
  const done: string[] = [];
  let runs = 0;
  for (;;) {
    // Read from the file each time, as by another process.
    const state = new State(folder);
    const { now, seconds } = scheduleOf(plan, state);
    if (now.length === 0) break;
    expect(seconds).toBeLessThanOrEqual(runSecondsMax);
    for (const { purpose, level } of now) {
      done.push(`${purpose} ${nameOf(level)}`);
      if (purpose === "fill") state.noteFilled(nameOf(level), filled);
      else state.noteMeasured(nameOf(level), { level } as never);
    }
    runs += 1;
  }
  expect(runs).toBeGreaterThan(1);
  expect(new Set(done).size).toBe(done.length);
  const bases = storeNames.map((store) => `fill ${nameOf({ store, shape: "random", rows: 10_000 })}`);
  const each = plan.levels.flatMap((level) => [`fill ${nameOf(level)}`, `measure ${nameOf(level)}`]);
  expect(done.toSorted()).toEqual([...bases, ...each].toSorted());
});

test("a level is measured after it and the one it is held against are filled", () => {
  const { now } = scheduleOf(plan, new State(freshFolder()));
  now.forEach(({ purpose, level }, place) => {
    if (purpose === "fill") return;
    const before = now.slice(0, place).filter((task) => task.purpose === "fill");
    const names = before.map((task) => nameOf(task.level));
    expect(names).toContain(nameOf(level));
    expect(names).toContain(nameOf({ ...level, shape: "random", rows: 10_000 }));
  });
});

test("only a folder of the command is removed", () => {
  const folder = freshFolder();
  expect(clean(folder)).toBe(false);
  new State(folder);
  expect(clean(folder)).toBe(true);
});
