import { expect, it } from "vitest";
import { sampleIdentity } from "../../testing/store-suite/samples.ts";
import { fakeClock } from "../../testing/clock.ts";
import type { LeaseAttempt } from "./lease-attempt.ts";
import { createRunning } from "./running.ts";

const attempt = (key: string, started: boolean): LeaseAttempt =>
  ({ ask: { identity: sampleIdentity(key) }, claim: { fence: 1 }, started }) as LeaseAttempt;

it("attempts whose handler was not called yet do not count as started", () => {
  const running = createRunning(fakeClock().environment);
  const [called, verified] = [attempt("a", true), attempt("b", false)];
  for (const each of [called, verified]) running.add(each);
  expect(running.size).toBe(2);
  expect(running.started()).toEqual([called]);
});
