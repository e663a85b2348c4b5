import type { Environment } from "../core/contract/environment.ts";
import { environment, given, integer, readOptions, type ReadBy } from "../core/contract/read-options.ts";
import { apiPrefix } from "./nats-api.ts";
import { natsSource, type NatsSource } from "./nats-connection.ts";
import { concurrency, dottedOption, nameOption, order, partitions, redeliveryMsMax } from "./option-checks.ts";
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

/** The server's own default; beyond it, processes wait for each other's answers. */
const unorderedPendingMax = 1_000;
const ackWaitMsDefault = 30_000;
const ackWaitMsMin = 1_000;
const ackWaitMsMax = 3_600_000;

const optionTable = {
  connection: natsSource,
  stream: nameOption,
  durable: nameOption,
  subjectPrefix: dottedOption,
  partitions,
  order,
  ackWaitMs: integer(ackWaitMsMin, ackWaitMsMax, ackWaitMsDefault),
  topics: topicsOption,
  concurrency,
  redeliveryMsMax,
  apiPrefix,
  inboxPrefix: given("_INBOX"),
  environment,
};

export interface ResolvedSubscription extends ReadBy<typeof optionTable> {
  readonly consumers: readonly ConsumerWish[];
}

export function resolveSubscription(options: NatsSubscriptionOptions): ResolvedSubscription {
  const settings = readOptions("a NATS subscription", options, optionTable);
  const { durable, subjectPrefix, partitions, concurrency } = settings;
  const wanted = filterOf(settings.topics);
  const part = (token: string, limit: number, pendingMax: number): ConsumerWish => ({
    name: token === "*" ? durable : `${durable}-${token}`,
    filter: `${subjectPrefix}.${token}.${wanted}`,
    limit,
    pendingMax,
  });
  const consumers =
    settings.order === "key"
      ? [
          ...Array.from({ length: partitions }, (_, partition) => part(String(partition), 1, 1)),
          part("u", concurrency, unorderedPendingMax),
        ]
      : [part("*", concurrency, unorderedPendingMax)];
  return { ...settings, consumers };
}

/** A consumer has one filter on servers before 2.10. */
function filterOf(topics: readonly string[]): string {
  const [first = "*"] = topics;
  if (topics.length > 1) return ">";
  return first.endsWith("*") ? `${first.slice(0, -1)}>` : first;
}
