/** Waits with jitter, so that processes that failed together do not come back together. */
import { fraction, type Environment } from "./environment.ts";

/** Longer than any bound, whatever the first wait is. */
const doublingsMax = 30;

/** The wait after so many failures in a row, before jitter. */
export function doubledMs(firstMs: number, failures: number, maxMs: number = Number.MAX_SAFE_INTEGER): number {
  return Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, doublingsMax));
}

/** Anywhere up to the bound: for many that failed at once. */
export function upTo(environment: Environment, boundMs: number): number {
  return Math.ceil(fraction(environment) * boundMs);
}

/** The upper half of it: for what must not come back at once. */
export function upperHalfOf(environment: Environment, boundMs: number): number {
  return boundMs * (0.5 + fraction(environment) / 2);
}

/** Half as long to half as long again: for looks at a rate. */
export function around(environment: Environment, ms: number): number {
  return ms * (0.5 + fraction(environment));
}
