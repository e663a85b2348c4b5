/** Options of the Redis store, checked once. */
import { integerOption, knownOptions, optionInvalid, type OptionNames } from "../../core/contract/option-checks.ts";
import { systemEnvironment } from "../../core/contract/environment.ts";
import type { Environment } from "../../core/contract/environment.ts";

export interface RedisStoreOptions {
  /** Begins the name of every key: 1 to 64 letters, digits and `_ - . : /`. Default `ichido:`. */
  readonly prefix?: string;
  /** Upper bound of every call, repetitions included. Default 5 000. */
  readonly callTimeoutMs?: number;
  /** The same for `list`, `stats` and `sweep`, which walk over all keys. Default 60 000. */
  readonly scanTimeoutMs?: number;
  /**
   * How long a key outlives its record's retention before Redis removes it by itself. Redis counts this by its wall clock
   * alone: a clock that jumps ahead by more than this loses records. Sweeps remove them in time. Default 7 days.
   */
  readonly marginMs?: number;
  /**
   * A claim and a completion count only when so many replicas have them, within the time. It blocks the client's
   * connection meanwhile. Not with a cluster client. Default: no waiting.
   */
  readonly wait?: { readonly replicas: number; readonly timeoutMs: number };
  /** Wakes waiting duplicates by publication, over one connection made by `client.duplicate()`. Default on. */
  readonly notify?: boolean;
  /** Runs on a server that may drop keys when it is full, and so may run an operation twice. Default off. */
  readonly dangerouslyAllowEviction?: boolean;
  readonly environment?: Environment;
}

export type ResolvedOptions = Required<Omit<RedisStoreOptions, "wait">> & Pick<RedisStoreOptions, "wait">;

const known: OptionNames<RedisStoreOptions> = {
  prefix: true,
  callTimeoutMs: true,
  scanTimeoutMs: true,
  marginMs: true,
  wait: true,
  notify: true,
  dangerouslyAllowEviction: true,
  environment: true,
};
const dayMs = 86_400_000;
const hourMs = 3_600_000;
const replicasMax = 100;

export function resolveOptions(options: RedisStoreOptions, cluster: boolean): ResolvedOptions {
  knownOptions("redisStore", options, known);
  const callTimeoutMs = integerOption("callTimeoutMs", options.callTimeoutMs ?? 5_000, 100, 600_000);
  return {
    prefix: prefixOf(options.prefix ?? "ichido:"),
    callTimeoutMs,
    scanTimeoutMs: integerOption("scanTimeoutMs", options.scanTimeoutMs ?? 60_000, 100, hourMs),
    marginMs: integerOption("marginMs", options.marginMs ?? 7 * dayMs, hourMs, 3_650 * dayMs),
    ...(options.wait === undefined ? {} : { wait: waitOf(options.wait, callTimeoutMs, cluster) }),
    notify: options.notify ?? true,
    dangerouslyAllowEviction: options.dangerouslyAllowEviction ?? false,
    environment: options.environment ?? systemEnvironment,
  };
}

function waitOf(wait: NonNullable<RedisStoreOptions["wait"]>, callTimeoutMs: number, cluster: boolean) {
  if (cluster)
    throw optionInvalid(
      "wait",
      "nothing with a cluster client: WAIT cannot be sent to the node that took the write",
      wait,
    );
  knownOptions("wait", wait, { replicas: true, timeoutMs: true });
  return {
    replicas: integerOption("wait.replicas", wait.replicas, 1, replicasMax),
    timeoutMs: integerOption("wait.timeoutMs", wait.timeoutMs, 1, callTimeoutMs - 1),
  };
}

function prefixOf(value: unknown): string {
  if (typeof value === "string" && /^[A-Za-z0-9_\-.:/]{1,64}$/.test(value)) return value;
  throw optionInvalid("prefix", "1 to 64 letters, digits and _ - . : /", value);
}
