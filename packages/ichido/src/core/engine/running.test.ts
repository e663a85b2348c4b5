import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { systemEnvironment } from "../contract/environment.ts";
import type { Identity, Key } from "../contract/record.ts";
import type { LeaseAttempt } from "./lease-attempt.ts";
import { createRunning } from "./running.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as (options?: { readonly type: "minor" }) => void;

const inFlight = 64;
const numbersEach = 2_000;

/** What the map knows of an attempt, and as much beside it as a request weighs. */
function attemptOf(number: number): LeaseAttempt {
  const identity: Identity = {
    key: String(number) as Key,
    scopeHash: new Uint8Array(32),
    tenant: undefined,
    principal: "p",
    operation: "a",
  };
  const attempt = { ask: { identity }, weight: Array.from({ length: numbersEach }, (_, at) => at + number + 0.5) };
  return attempt as unknown as LeaseAttempt;
}

it("attempts that have ended go with the next collection of young objects, however old the map is", () => {
  const running = createRunning(systemEnvironment);
  const waiting = Array.from({ length: inFlight }, (_, number) => attemptOf(number));
  for (const attempt of waiting) running.add(attempt);
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let number = inFlight; number < 40 * inFlight; number += 1) {
    const attempt = attemptOf(number);
    running.add(attempt);
    waiting.push(attempt);
    running.remove(waiting.shift() as LeaseAttempt);
    if (number % (8 * inFlight) === 0) collect({ type: "minor" });
  }
  const grown = process.memoryUsage().heapUsed - before;
  expect(running.size).toBe(inFlight);
  // Those that were under way at one of the collections; else it would be all of them, 39 times as many as are in flight.
  expect(grown).toBeLessThan(16 * inFlight * numbersEach * 8);
});
