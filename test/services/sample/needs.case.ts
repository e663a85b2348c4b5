import { expect, test } from "vitest";
import { describeWith } from "../../support/services.ts";

describeWith("nats", "needs NATS", (url) => {
  test("has it", () => expect(url).toMatch(/^nats:/));
});
