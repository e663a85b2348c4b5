import { integerOption, knownOptions, type OptionNames } from "../core/contract/option-checks.ts";
import { systemEnvironment, type Environment } from "../core/contract/environment.ts";
import { apiPrefixDefault } from "./nats-api.ts";
import type { NatsSource } from "./nats-connection.ts";
import {
  concurrencyDefault,
  concurrencyMax,
  dottedOption,
  keepMsDefault,
  keepMsMax,
  nameOption,
  orderOption,
  partitionsDefault,
  partitionsMax,
} from "./option-checks.ts";
import { topicsOption } from "./topic-pattern.ts";

export interface NatsSubscriptionOptions {
  /** From `connect` of the NATS client, with `maxReconnectAttempts: -1`; or a function that makes one, which is then closed here. */
  readonly connection: NatsSource;
  readonly stream: string;
  /** Names the durable consumers: processes with the same name share the work. */
  readonly durable: string;
  readonly subjectPrefix: string;
  /** The same number as the publisher's. Default 8. */
  readonly partitions?: number;
  /** `key`: one after the other within a partition. Default `key`. */
  readonly order?: "key" | "none";
  /** How long a delivery may stay without a sign of life before it is handed out again. Default 30 000. */
  readonly ackWaitMs?: number;
  /** Default all. One pattern is filtered by the server; of several, the others are acknowledged unseen. */
  readonly topics?: readonly string[];
  /** How many at once, of events without a key or with order `none`. Default 16. */
  readonly concurrency?: number;
  /** At least the stream's `max_age`. Default 7 days. */
  readonly redeliveryMsMax?: number;
  /** For a JetStream domain or an imported account. Default `$JS.API`. */
  readonly apiPrefix?: string;
  /** Begins the subjects that deliveries come in on; as the connection's own `inboxPrefix`. Default `_INBOX`. */
  readonly inboxPrefix?: string;
  readonly environment?: Environment;
}

export interface ConsumerWish {
  readonly name: string;
  readonly filter: string;
  /** How many at once in this process. */
  readonly limit: number;
  /** How many the server lets be unanswered, over all processes. One keeps order: the next waits for the answer. */
  readonly pendingMax: number;
}

export interface ResolvedSubscription {
  readonly stream: string;
  readonly subjectPrefix: string;
  readonly partitions: number;
  readonly ackWaitMs: number;
  readonly redeliveryMsMax: number;
  readonly topics: readonly string[];
  readonly apiPrefix: string;
  readonly inboxPrefix: string;
  readonly environment: Environment;
  readonly consumers: readonly ConsumerWish[];
}

/** The server's own default; beyond it, processes wait for each other's answers. */
const unorderedPendingMax = 1_000;
const ackWaitMsDefault = 30_000;
const ackWaitMsMin = 1_000;
const ackWaitMsMax = 3_600_000;

const optionNames: OptionNames<NatsSubscriptionOptions> = {
  connection: true,
  stream: true,
  durable: true,
  subjectPrefix: true,
  partitions: true,
  order: true,
  ackWaitMs: true,
  topics: true,
  concurrency: true,
  redeliveryMsMax: true,
  apiPrefix: true,
  inboxPrefix: true,
  environment: true,
};

export function resolveSubscription(options: NatsSubscriptionOptions): ResolvedSubscription {
  knownOptions("a NATS subscription", options, optionNames);
  const partitions = integerOption("partitions", options.partitions ?? partitionsDefault, 1, partitionsMax);
  const durable = nameOption("durable", options.durable);
  const subjectPrefix = dottedOption("subjectPrefix", options.subjectPrefix);
  const concurrency = integerOption("concurrency", options.concurrency ?? concurrencyDefault, 1, concurrencyMax);
  const topics = topicsOption("topics", options.topics);
  const wanted = filterOf(topics);
  const part = (token: string, limit: number, pendingMax: number): ConsumerWish => ({
    name: token === "*" ? durable : `${durable}-${token}`,
    filter: `${subjectPrefix}.${token}.${wanted}`,
    limit,
    pendingMax,
  });
  const ordered = orderOption("order", options.order ?? "key") === "key";
  return {
    stream: nameOption("stream", options.stream),
    subjectPrefix,
    partitions,
    ackWaitMs: integerOption("ackWaitMs", options.ackWaitMs ?? ackWaitMsDefault, ackWaitMsMin, ackWaitMsMax),
    redeliveryMsMax: integerOption("redeliveryMsMax", options.redeliveryMsMax ?? keepMsDefault, 1, keepMsMax),
    topics,
    apiPrefix: options.apiPrefix ?? apiPrefixDefault,
    inboxPrefix: options.inboxPrefix ?? "_INBOX",
    environment: options.environment ?? systemEnvironment,
    consumers: ordered
      ? [
          ...Array.from({ length: partitions }, (_, partition) => part(String(partition), 1, 1)),
          part("u", concurrency, unorderedPendingMax),
        ]
      : [part("*", concurrency, unorderedPendingMax)],
  };
}

/** A consumer has one filter on servers before 2.10. */
function filterOf(topics: readonly string[]): string {
  const [first = "*"] = topics;
  if (topics.length > 1) return ">";
  return first.endsWith("*") ? `${first.slice(0, -1)}>` : first;
}
