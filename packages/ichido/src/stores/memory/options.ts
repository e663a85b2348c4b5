import { integerOption, knownOptions, optionInvalid } from "../../core/contract/option-checks.ts";
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

export const memoryDefaults = { recordsMax: 100_000, bytesMax: 256 * 1_048_576, scopeShareMax: 0.5 } as const;

export function boundOf(name: "recordsMax" | "bytesMax", value: unknown): number {
  if (value === undefined) return memoryDefaults[name];
  return integerOption(name, value, 1, Number.MAX_SAFE_INTEGER);
}

export function shareOf(value: unknown): number {
  if (value === undefined) return memoryDefaults.scopeShareMax;
  if (typeof value === "number" && value > 0 && value <= 1) return value;
  throw optionInvalid("scopeShareMax", "a number above 0 and up to 1", value);
}

export function clockOf(value: unknown): () => number {
  if (value === undefined) return Date.now;
  if (typeof value !== "function") throw optionInvalid("nowMs", "a function that gives milliseconds since 1970", value);
  const clock = value as () => unknown;
  return () => {
    const nowMs = clock();
    if (typeof nowMs === "number" && Number.isFinite(nowMs)) return nowMs;
    throw optionInvalid("nowMs", "a function that gives milliseconds since 1970", nowMs);
  };
}

export function timersOf(value: MemoryStoreOptions["environment"]): Pick<Environment, "after"> {
  if (value === undefined) return systemEnvironment;
  if (typeof value?.after !== "function")
    throw optionInvalid("environment", "an object with an `after` function", value);
  return value;
}

/** A misspelt bound would silently be the default. */
export function checkNames(options: MemoryStoreOptions): void {
  knownOptions("memoryStore", options, {
    recordsMax: true,
    bytesMax: true,
    scopeShareMax: true,
    nowMs: true,
    environment: true,
  });
}
