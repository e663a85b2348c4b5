import { expect, it } from "vitest";
import { refuseTypescript } from "./config-file.ts";

it("a Node that runs no TypeScript says what to do, in place of a stack", () => {
  for (const features of [{}, { typescript: false }]) {
    expect(() => refuseTypescript("ichido.config.ts", features)).toThrow(
      /does not run TypeScript; use 22\.18 or newer/,
    );
    expect(() => refuseTypescript("ichido.config.mjs", features)).not.toThrow();
  }
  expect(() => refuseTypescript("ichido.config.mts", { typescript: "strip" })).not.toThrow();
});
