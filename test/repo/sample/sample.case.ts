import { expect, test } from "vitest";

test("passes", () => expect(1).toBe(1));
test("passes too", () => expect(2).toBe(2));
// Skipped on purpose: the test of the test command expects to find it named.
test.skip("waits", () => {});
test.runIf(process.env["SAMPLE"] === "fail")("fails", () => expect(1).toBe(2));
test.runIf(process.env["SAMPLE"] === "unhandled")("leaves an unhandled rejection", () => {
  void Promise.reject(new Error("nobody listens"));
});
if (process.env["SAMPLE"] === "broken") throw new Error("this file cannot be loaded");
