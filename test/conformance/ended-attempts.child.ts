/** Prints by how many bytes the heap grew while many attempts came and went, in a process that does nothing else. */
import { systemEnvironment } from "../../packages/ichido/src/core/contract/environment.ts";
import type { Identity, Key } from "../../packages/ichido/src/core/contract/record.ts";
import type { LeaseAttempt } from "../../packages/ichido/src/core/engine/lease-attempt.ts";
import { createRunning } from "../../packages/ichido/src/core/engine/running.ts";

const [inFlight = 0, numbersEach = 0] = process.argv.slice(2).map(Number);
const collect = globalThis.gc as (options?: { readonly type: "minor" }) => void;

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

const running = createRunning(systemEnvironment);
const waiting = Array.from({ length: inFlight }, (_, number) => attemptOf(number));
for (const attempt of waiting) running.add(attempt);
// Twice: only what outlives two of them is old for certain, and the table of the map must be.
collect();
collect();
const before = process.memoryUsage().heapUsed;
for (let number = inFlight; number < 40 * inFlight; number += 1) {
  const attempt = attemptOf(number);
  running.add(attempt);
  waiting.push(attempt);
  running.remove(waiting.shift() as LeaseAttempt);
  if (number % (8 * inFlight) === 0) collect({ type: "minor" });
}
console.log(JSON.stringify({ grown: process.memoryUsage().heapUsed - before, size: running.size }));
