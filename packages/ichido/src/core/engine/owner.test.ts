import { expect, it } from "vitest";
import { fakeClock } from "../../testing/clock.ts";
import { systemEnvironment, type Environment } from "../contract/environment.ts";
import { createOwners } from "./owner.ts";

it("tokens are 32 hexadecimal digits and never come twice, not even while the clock stands still", () => {
  const standing = fakeClock().environment;
  const newOwner = createOwners(standing);
  const tokens = Array.from({ length: 10_000 }, newOwner);
  for (const token of tokens) expect(token).toMatch(/^[0-9a-f]{32}$/);
  expect(new Set(tokens).size).toBe(tokens.length);
});

it("two processes that began alike part by their clocks, and two others by what they drew", () => {
  const alike = (aheadMs: number): Environment => ({
    ...fakeClock({ seed: 7 }).environment,
    monotonicMs: () => 12_345_678.9 + aheadMs,
  });
  expect(createOwners(alike(0))(), "a clock of more digits than are used").toMatch(/^[0-9a-f]{32}$/);
  expect(createOwners(alike(0))()).toBe(createOwners(alike(0))());
  expect(createOwners(alike(0))()).not.toBe(createOwners(alike(0.000_01))());
  expect(createOwners(systemEnvironment)().slice(0, 16)).not.toBe(createOwners(systemEnvironment)().slice(0, 16));
});
