/** Options of publisher and subscription, checked once. */
import type { Environment } from "../../core/contract/environment.ts";
import { optionInvalid } from "../../core/contract/option-checks.ts";
import { environment, given, integer, orElse, readOptions, type ReadBy } from "../../core/contract/read-options.ts";
import { replicasOf, type ReplicaWait } from "../../drivers/redis/replicas.ts";
import { dayMs, keepMsDefault, keepMsMax, order, partitions } from "../option-checks.ts";

/**
 * Where events lie. Publisher and subscriptions must agree; the first one writes it down, and one that differs is
 * refused.
 */
export interface RedisStreamsLayout {
  /** Begins the name of every key: 1 to 200 letters, digits and `_ - . : / { }`. Default `ichido:events`. */
  readonly stream?: string;
  /** How many streams keys are spread over, so how many events a group with order `key` works on at once. Default 8. */
  readonly partitions?: number;
}

export interface RedisStreamsPublisherOptions extends RedisStreamsLayout {
  /** For events and metrics. Default `redis-streams`. */
  readonly name?: string;
  /** Upper bound of `publish`. Default 10 000. */
  readonly callTimeoutMs?: number;
  /** Payloads beyond it are rejected; at most the server's `proto-max-bulk-len`. Default 64 MiB. */
  readonly payloadBytesMax?: number;
  /** `sent` only when so many replicas have it within the time. Blocks the client's connection meanwhile; not with a cluster client. */
  readonly wait?: ReplicaWait;
  /** Wakes subscriptions by PUBLISH, at most every 5 ms for each partition. Default on. */
  readonly notify?: boolean;
  readonly environment?: Environment;
}

export interface RedisStreamsSubscriptionOptions extends RedisStreamsLayout {
  /** The consumer group: each group gets every event. */
  readonly group: string;
  /** `key`: events of one key are handed out in order. `none`: as they come. The same for all consumers of a group. Default `key`. */
  readonly order?: "key" | "none";
  /** Default `redis-streams:<group>`. */
  readonly name?: string;
  /** A consumer that gives no sign of life for so long loses what it holds to another one. Default 30 000. */
  readonly ackWaitMs?: number;
  /** With order `key`: entries of a partition taken at a time. Default 32. */
  readonly batch?: number;
  /** With order `none`: events at work at once. Default 16. */
  readonly concurrency?: number;
  /** Deletes an entry when it is acknowledged, unless other groups read the stream, too. Default off. */
  readonly deleteAcked?: boolean;
  /**
   * Redis keeps what was not acknowledged for ever: this is your word that no outage of all consumers lasts longer. The
   * inbox must remember for at least as long. Default 7 days.
   */
  readonly redeliveryMsMax?: number;
  /** Upper bound of a call. Default 5 000. */
  readonly callTimeoutMs?: number;
  /** Longest pause between two looks at an idle partition; the shortest is 5. Default 100. */
  readonly pollMsMax?: number;
  /** Listens for the publisher's wake-ups on one connection made by `client.duplicate()`. Default on. */
  readonly notify?: boolean;
  readonly environment?: Environment;
}

/** How many entries the script looks through to see who holds a partition; no consumer takes more at a time. */
const batchMax = 1_000;
const megabyte = 1_048_576;

export const layoutTable = { stream: orElse("ichido:events", streamOf), partitions };
export type Layout = ReadBy<typeof layoutTable>;

const publisherTable = {
  ...layoutTable,
  name: given("redis-streams"),
  callTimeoutMs: integer(10, 600_000, 10_000),
  payloadBytesMax: integer(1, 2_047 * megabyte, 64 * megabyte),
  wait: given<ReplicaWait | undefined>(),
  notify: given(true),
  environment,
};

const subscriptionTable = {
  ...layoutTable,
  group: groupOf,
  order,
  name: given<string | undefined>(),
  ackWaitMs: integer(50, dayMs, 30_000),
  batch: integer(1, batchMax, 32),
  concurrency: integer(1, batchMax, 16),
  deleteAcked: given(false),
  redeliveryMsMax: integer("ackWaitMs", keepMsMax, keepMsDefault),
  callTimeoutMs: integer(10, 600_000, 5_000),
  pollMsMax: integer(5, 60_000, 100),
  notify: given(true),
  environment,
};

export type ResolvedPublisher = ReadBy<typeof publisherTable>;
export type ResolvedSubscription = ReadBy<typeof subscriptionTable> & { readonly name: string };

export function resolvePublisher(options: RedisStreamsPublisherOptions, cluster: boolean): ResolvedPublisher {
  const settings = readOptions("redisStreamsPublisher", options, publisherTable);
  return { ...settings, wait: replicasOf(settings.wait, settings.callTimeoutMs, cluster) };
}

export function resolveSubscription(options: RedisStreamsSubscriptionOptions): ResolvedSubscription {
  const settings = readOptions("redisStreamsSubscription", options, subscriptionTable);
  return { ...settings, name: settings.name ?? `redis-streams:${settings.group}` };
}

function streamOf(option: string, value: unknown): string {
  if (typeof value === "string" && /^[A-Za-z0-9_\-.:/{}]{1,200}$/.test(value)) return value;
  throw optionInvalid(option, "1 to 200 letters, digits and _ - . : / { }", value);
}

export function groupOf(option: string, group: unknown): string {
  if (typeof group === "string" && /^[\x21-\x7e]{1,200}$/.test(group)) return group;
  throw optionInvalid(option, "1 to 200 printable ASCII characters without spaces", group);
}
