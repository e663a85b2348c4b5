import { expect, test } from "vitest";
import { simulate } from "./simulate.ts";

const part = ["--part", "transactions"] as const;

/**
 * Among them those that show what was wrong once: 17, where a body committed beside an answer that was written meanwhile; 300,
 * where an answer did not wait for the commit under way; 793, where a statement was sent by its handle behind ROLLBACK.
 */
test("transactions keep their promises in 1,000 histories", { timeout: 300_000 }, async () => {
  const output = await simulate(...part, "--seeds", 1_000, "--all");
  expect(output).toMatch(/^1000 seeds from 1 in /);
  // Enough goes on in them.
  const average = (name: string): number => Number(new RegExp(`\\b${name} ([0-9.]+)`).exec(output)?.[1]);
  expect(average("messages")).toBeGreaterThan(30);
  expect(average("faults")).toBeGreaterThan(3);
  expect(average("processes")).toBeGreaterThan(2);
});

test(
  "a history of transactions is the same again, and drained by the turns of the event loop",
  { timeout: 300_000 },
  async () => {
    const twice = await simulate(...part, "--seeds", 150, "--all", "--twice");
    const turns = await simulate(...part, "--seeds", 150, "--turns");
    expect(twice).toContain("each seed twice the same");
    expect(turns).toContain("the same at once and by turns of the event loop");
  },
);
