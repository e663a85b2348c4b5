/** Options of publisher and subscription, checked once. */
import { systemEnvironment, type Environment } from "../../core/contract/environment.ts";
import {
  optionInvalid,
  integerOption,
  knownOptions,
  oneOfOption,
  type OptionNames,
} from "../../core/contract/option-checks.ts";

/** Where events lie. Publisher and subscriptions must agree; the first one writes it down, and who differs is refused. */
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
  readonly wait?: { readonly replicas: number; readonly timeoutMs: number };
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

export interface Layout {
  readonly stream: string;
  readonly partitions: number;
}

export type ResolvedPublisher = Required<Omit<RedisStreamsPublisherOptions, "wait">> &
  Pick<RedisStreamsPublisherOptions, "wait">;
export type ResolvedSubscription = Required<RedisStreamsSubscriptionOptions>;

/** How many entries the script looks through to see who holds a partition; no consumer takes more at a time. */
const batchMax = 1_000;
const partitionsMax = 256;
const dayMs = 86_400_000;
const megabyte = 1_048_576;

export function resolveLayout(options: RedisStreamsLayout): Layout {
  const stream = options.stream ?? "ichido:events";
  if (typeof stream !== "string" || !/^[A-Za-z0-9_\-.:/{}]{1,200}$/.test(stream))
    throw optionInvalid("stream", "1 to 200 letters, digits and _ - . : / { }", stream);
  return { stream, partitions: integerOption("partitions", options.partitions ?? 8, 1, partitionsMax) };
}

export const layoutNames: OptionNames<RedisStreamsLayout> = { stream: true, partitions: true };

const publisherNames: OptionNames<RedisStreamsPublisherOptions> = {
  ...layoutNames,
  name: true,
  callTimeoutMs: true,
  payloadBytesMax: true,
  wait: true,
  notify: true,
  environment: true,
};

const subscriptionNames: OptionNames<RedisStreamsSubscriptionOptions> = {
  ...layoutNames,
  group: true,
  order: true,
  name: true,
  ackWaitMs: true,
  batch: true,
  concurrency: true,
  deleteAcked: true,
  redeliveryMsMax: true,
  callTimeoutMs: true,
  pollMsMax: true,
  notify: true,
  environment: true,
};

export function resolvePublisher(options: RedisStreamsPublisherOptions, cluster: boolean): ResolvedPublisher {
  knownOptions("redisStreamsPublisher", options, publisherNames);
  const callTimeoutMs = integerOption("callTimeoutMs", options.callTimeoutMs ?? 10_000, 10, 600_000);
  const { wait } = options;
  if (wait !== undefined && cluster)
    throw optionInvalid(
      "wait",
      "nothing with a cluster client: WAIT cannot be sent to the node that took the write",
      wait,
    );
  if (wait !== undefined) knownOptions("wait", wait, { replicas: true, timeoutMs: true });
  return {
    ...resolveLayout(options),
    name: options.name ?? "redis-streams",
    callTimeoutMs,
    payloadBytesMax: integerOption("payloadBytesMax", options.payloadBytesMax ?? 64 * megabyte, 1, 2_047 * megabyte),
    ...(wait === undefined
      ? {}
      : {
          wait: {
            replicas: integerOption("wait.replicas", wait.replicas, 1, 100),
            timeoutMs: integerOption("wait.timeoutMs", wait.timeoutMs, 1, callTimeoutMs - 1),
          },
        }),
    notify: options.notify ?? true,
    environment: options.environment ?? systemEnvironment,
  };
}

export function resolveSubscription(options: RedisStreamsSubscriptionOptions): ResolvedSubscription {
  knownOptions("redisStreamsSubscription", options, subscriptionNames);
  const group = groupOf(options.group);
  const order = oneOfOption("order", options.order ?? "key", ["key", "none"]);
  const ackWaitMs = integerOption("ackWaitMs", options.ackWaitMs ?? 30_000, 50, dayMs);
  return {
    ...resolveLayout(options),
    group,
    order,
    name: options.name ?? `redis-streams:${group}`,
    ackWaitMs,
    batch: integerOption("batch", options.batch ?? 32, 1, batchMax),
    concurrency: integerOption("concurrency", options.concurrency ?? 16, 1, batchMax),
    deleteAcked: options.deleteAcked ?? false,
    redeliveryMsMax: integerOption("redeliveryMsMax", options.redeliveryMsMax ?? 7 * dayMs, ackWaitMs, 3_650 * dayMs),
    callTimeoutMs: integerOption("callTimeoutMs", options.callTimeoutMs ?? 5_000, 10, 600_000),
    pollMsMax: integerOption("pollMsMax", options.pollMsMax ?? 100, 5, 60_000),
    notify: options.notify ?? true,
    environment: options.environment ?? systemEnvironment,
  };
}

export function groupOf(group: unknown): string {
  if (typeof group === "string" && /^[\x21-\x7e]{1,200}$/.test(group)) return group;
  throw optionInvalid("group", "1 to 200 printable ASCII characters without spaces", group);
}
