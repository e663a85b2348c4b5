/** Waits with jitter, so that processes that failed together do not come back together. */
import { fraction, type Environment } from "./environment.ts";

/** So many doublings exceed any bound, whatever the first wait is. */
const doublingsMax = 30;

/** The wait after so many failures in a row, before jitter. */
export function doubledMs(firstMs: number, failures: number, maxMs: number = Number.MAX_SAFE_INTEGER): number {
  return Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, doublingsMax));
}

/** A random wait up to the bound: for many callers that failed at once. */
export function upTo(environment: Environment, boundMs: number): number {
  return Math.ceil(fraction(environment) * boundMs);
}

/** A random wait in the upper half of the bound: for a retry that must not come at once. */
export function upperHalfOf(environment: Environment, boundMs: number): number {
  return boundMs * (0.5 + fraction(environment) / 2);
}

/** A random wait from 0.5 to 1.5 times `ms`: for looks at a regular rate. */
export function around(environment: Environment, ms: number): number {
  return ms * (0.5 + fraction(environment));
}
