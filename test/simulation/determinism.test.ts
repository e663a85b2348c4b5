import { expect, test } from "vitest";
import { simulate } from "./simulate.ts";

const hashOf = (output: string): string | undefined => /hash of all traces: ([0-9a-f]+)/.exec(output)?.[1];

test("a seed is one history: 1,000 seeds give the same traces in two processes", { timeout: 300_000 }, async () => {
  const seeds = ["--seeds", 1_000, "--all"];
  const [one, other] = await Promise.all([simulate(...seeds), simulate(...seeds)]);
  expect(hashOf(one)).toMatch(/^[0-9a-f]+$/);
  expect(hashOf(other)).toBe(hashOf(one));
});

test("a seed is the same history again in one process, and drained by the turns of the event loop", async () => {
  const [twice, turns] = await Promise.all([
    simulate("--seeds", 150, "--all", "--twice"),
    simulate("--seeds", 150, "--turns"),
  ]);
  expect(twice).toContain("each seed twice the same");
  expect(turns).toContain("the same at once and by turns of the event loop");
});
