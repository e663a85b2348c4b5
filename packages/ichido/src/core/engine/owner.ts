/**
 * Owner tokens: one for each attempt, never the same again. Drawn once for the process; after that a count and the clock,
 * which differs even between two copies of one process (a virtual machine restored twice). No token leaves the process
 * and its store, so it need not be hard to guess, and fresh randomness for each would be among the dearest parts of a
 * request.
 */
import type { Environment } from "../contract/environment.ts";
import type { OwnerToken } from "../contract/record.ts";

const countDigits = 6;
const countMask = 16 ** countDigits - 1;
const clockDigits = 10;

/** 32 hexadecimal digits. */
export function createOwners(environment: Environment): () => OwnerToken {
  /** Drawn when the first one is wanted: an engine may be made where nothing random can be had yet. */
  let ours: string | undefined;
  let count = 0;
  return () => {
    ours ??= Buffer.from(environment.randomBytes(8)).toString("hex");
    count = (count + 1) & countMask;
    const clock = Math.floor(environment.monotonicMs() * 1_000_000).toString(16);
    return (ours + ending(clock, clockDigits) + ending(count.toString(16), countDigits)) as OwnerToken;
  };
}

function ending(digits: string, length: number): string {
  return digits.length >= length ? digits.slice(-length) : digits.padStart(length, "0");
}
