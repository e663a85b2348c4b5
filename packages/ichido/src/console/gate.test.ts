import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createGate } from "./gate.ts";

const timeoutMs = 200;
const slowMs = 60;

test("calls that fail slowly pile up nowhere: their places stay taken, and come back", async () => {
  const gate = createGate(2, timeoutMs);
  let started = 0;
  const givenUp = async (): Promise<never> => {
    started += 1;
    await sleep(slowMs);
    throw new Error("the driver gave up; its server did not");
  };
  const asked = await Promise.allSettled(Array.from({ length: 30 }, () => gate(givenUp)));
  expect(asked.every(({ status }) => status === "rejected")).toBe(true);
  expect(started).toBe(2);
  // Held for ten times as long, the second for twice that.
  await sleep(10 * slowMs + timeoutMs);
  expect(await gate(async () => "again")).toBe("again");
});

test("a quick failure gives its place back at once", async () => {
  const gate = createGate(1, timeoutMs);
  for (let turn = 0; turn < 20; turn += 1)
    await expect(gate(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(await gate(async () => "fine")).toBe("fine");
});
