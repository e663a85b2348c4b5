/** Options of the Redis store, checked once. */
import type { Environment } from "../../core/contract/environment.ts";
import { optionInvalid } from "../../core/contract/option-checks.ts";
import { environment, given, integer, orElse, readOptions, type ReadBy } from "../../core/contract/read-options.ts";
import { replicasOf, type ReplicaWait } from "../../drivers/redis/replicas.ts";

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
  readonly wait?: ReplicaWait;
  /** Wakes waiting duplicates by publication, over one connection made by `client.duplicate()`. Default on. */
  readonly notify?: boolean;
  /** Runs on a server that may drop keys when it is full, and so may run an operation twice. Default off. */
  readonly dangerouslyAllowEviction?: boolean;
  readonly environment?: Environment;
}

const dayMs = 86_400_000;
const hourMs = 3_600_000;

const optionTable = {
  prefix: orElse("ichido:", prefixOf),
  callTimeoutMs: integer(100, 600_000, 5_000),
  scanTimeoutMs: integer(100, hourMs, 60_000),
  marginMs: integer(hourMs, 3_650 * dayMs, 7 * dayMs),
  wait: given<ReplicaWait | undefined>(),
  notify: given(true),
  dangerouslyAllowEviction: given(false),
  environment,
};

export type ResolvedOptions = ReadBy<typeof optionTable>;

export function resolveOptions(options: RedisStoreOptions, cluster: boolean): ResolvedOptions {
  const settings = readOptions("redisStore", options, optionTable);
  return { ...settings, wait: replicasOf(settings.wait, settings.callTimeoutMs, cluster) };
}

function prefixOf(option: string, value: unknown): string {
  if (typeof value === "string" && /^[A-Za-z0-9_\-.:/]{1,64}$/.test(value)) return value;
  throw optionInvalid(option, "1 to 64 letters, digits and _ - . : /", value);
}
