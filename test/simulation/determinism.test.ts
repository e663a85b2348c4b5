import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

function simulate(...args: readonly string[]): string {
  const child = spawnSync(process.execPath, ["--conditions=ichido-source", "simulation/main.ts", "--quiet", ...args], {
    encoding: "utf8",
  });
  expect(child.stderr).toBe("");
  return child.stdout;
}

test("a seed is one history: 1,000 seeds give the same traces twice, in one process and in another", () => {
  const first = simulate("--seeds", "1000", "--all", "--twice");
  expect(first).toMatch(/hash of all traces: [0-9a-f]+, each seed twice the same/);
  const hashOf = (output: string): string | undefined => /hash of all traces: ([0-9a-f]+)/.exec(output)?.[1];
  expect(hashOf(simulate("--seeds", "1000", "--all"))).toBe(hashOf(first));
});

test("nothing of a history is left to the event loop: drained by its turns, 200 seeds give the same traces", () => {
  expect(simulate("--seeds", "200", "--turns")).toContain("the same at once and by turns of the event loop");
});
