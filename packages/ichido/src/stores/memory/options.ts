import { optionInvalid } from "../../core/contract/option-checks.ts";
import { positive, orElse, readOptions, type ReadBy } from "../../core/contract/read-options.ts";
import { systemEnvironment, type Environment } from "../../core/contract/environment.ts";

export interface MemoryStoreOptions {
  /** New keys are refused beyond this many records. Default 100 000. */
  readonly recordsMax?: number;
  /**
   * New keys are refused beyond about this many bytes of records. Default 256 MiB. Answers of keys already taken are
   * kept even so: the bound may be passed by the answers of the requests that are running.
   */
  readonly bytesMax?: number;
  /**
   * How much of either bound one caller (tenant and principal) may take up, above 0 and up to 1. Its new keys are refused
   * beyond it, those of others are not. Default 0.5; 1 where there is one caller. Keys that all callers share have no bound of their own.
   */
  readonly scopeShareMax?: number;
  /** The store's clock, in milliseconds since 1970. Default `Date.now`. */
  readonly nowMs?: () => number;
  /** Where `watch` takes its timers from. Default: those of the system. */
  readonly environment?: Pick<Environment, "after">;
}

const optionTable = {
  recordsMax: positive(100_000),
  bytesMax: positive(256 * 1_048_576),
  scopeShareMax: orElse(0.5, shareOf),
  nowMs: clockOf,
  environment: timersOf,
};

export function resolveOptions(options: MemoryStoreOptions): ReadBy<typeof optionTable> {
  return readOptions("memoryStore", options, optionTable);
}

function shareOf(option: string, value: unknown): number {
  if (typeof value === "number" && value > 0 && value <= 1) return value;
  throw optionInvalid(option, "a number above 0 and up to 1", value);
}

function clockOf(option: string, value: unknown): () => number {
  if (value === undefined) return Date.now;
  const expected = "a function that gives milliseconds since 1970";
  if (typeof value !== "function") throw optionInvalid(option, expected, value);
  const clock = value as () => unknown;
  return () => {
    const nowMs = clock();
    if (typeof nowMs === "number" && Number.isFinite(nowMs)) return nowMs;
    throw optionInvalid(option, expected, nowMs);
  };
}

function timersOf(option: string, value: unknown): Pick<Environment, "after"> {
  const timers = (value === undefined ? systemEnvironment : value) as Pick<Environment, "after"> | null;
  if (typeof timers?.after === "function") return timers;
  throw optionInvalid(option, "an object with an `after` function", value);
}
