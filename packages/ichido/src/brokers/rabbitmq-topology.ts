/**
 * Exchange, queues and bindings. Quorum queues throughout: they survive a restart, and count deliveries. With order
 * `key` one per partition, with a single active consumer, so that one process at a time holds what is unanswered. No
 * delivery limit: what becomes a dead letter is decided by the consumer, after it has kept it. What no consumer takes
 * in time goes to `<queue>.expired`; when a queue is full, the server refuses new events to their publishers instead.
 */
import { systemEnvironment } from "../core/contract/environment.ts";
import { IchidoError } from "../core/contract/errors.ts";
import { optionInvalid } from "../core/contract/option-checks.ts";
import { integer, optional, readOptions } from "../core/contract/read-options.ts";
import type { EventMessage } from "./message.ts";
import { amqpConnect, dottedOption, keepMsDefault, keepMsMax, order, partitions } from "./option-checks.ts";
import { partitionOf } from "./partition.ts";
import { RabbitmqSession, replyCodeOf, type AmqpChannel, type AmqpConnect } from "./rabbitmq-connection.ts";
import { topicsOption } from "./topic-pattern.ts";

export interface RabbitmqTopologyOptions {
  readonly connect: AmqpConnect;
  readonly exchange: string;
  /** Begins the names of the queues of one subscription. Absent: only the exchange. */
  readonly queue?: string;
  readonly partitions?: number;
  readonly order?: "key" | "none";
  /** Which topics the queues get. Default all. */
  readonly topics?: readonly string[];
  /** How long an event waits to be taken. Default 7 days; the subscription's `redeliveryMsMax` should be the same. */
  readonly messageTtlMs?: number;
  /** How many events each queue holds before the server refuses more. Default without limit. */
  readonly lengthMax?: number;
}

const preconditionFailed = 406;
const lengthLimit = 1_000_000_000;

export function routingKeyOf(message: EventMessage, partitions: number): string {
  return `${message.key === undefined ? "u" : partitionOf(message.key, partitions)}.${message.topic}`;
}

export interface QueueWish {
  readonly name: string;
  readonly partition: string;
  readonly ordered: boolean;
}

export function queuesOf(queue: string, order: "key" | "none", partitions: number): readonly QueueWish[] {
  if (order === "none") return [{ name: queue, partition: "*", ordered: false }];
  return [
    ...Array.from({ length: partitions }, (_, partition) => ({
      name: `${queue}.${partition}`,
      partition: String(partition),
      ordered: true,
    })),
    { name: `${queue}.u`, partition: "u", ordered: false },
  ];
}

/** `order.*` is everything below `order`; in AMQP `*` is exactly one name and `#` any number of them. */
function bindingOf(pattern: string): string {
  if (pattern === "*") return "#";
  return pattern.endsWith("*") ? `${pattern}.#` : pattern;
}

const optionTable = {
  connect: amqpConnect,
  exchange: dottedOption,
  partitions,
  order,
  topics: topicsOption,
  messageTtlMs: integer(1_000, keepMsMax, keepMsDefault),
  queue: optional(dottedOption),
  lengthMax: optional(integer(1, lengthLimit)),
};

export async function ensureRabbitmqTopology(options: RabbitmqTopologyOptions): Promise<void> {
  const { connect, exchange, partitions, order, topics, messageTtlMs, queue, lengthMax } = readOptions(
    "ensureRabbitmqTopology",
    options,
    optionTable,
  );
  if (queue === undefined && (options.topics ?? options.lengthMax ?? options.messageTtlMs) !== undefined)
    throw optionInvalid("queue", "a name, as topics, lengthMax and messageTtlMs are of queues", undefined);
  const session = await RabbitmqSession.openPlain(connect, systemEnvironment);
  const { channel } = session;
  try {
    await asIs(`exchange ${exchange}`, () => channel.assertExchange(exchange, "topic", { durable: true }));
    if (queue === undefined) return;
    await assertQuorum(channel, `${queue}.expired`, {});
    for (const { name, partition, ordered } of queuesOf(queue, order, partitions)) {
      await assertQuorum(channel, name, {
        ...(ordered ? { "x-single-active-consumer": true } : {}),
        ...(lengthMax === undefined ? {} : { "x-max-length": lengthMax }),
        "x-message-ttl": messageTtlMs,
        "x-overflow": "reject-publish",
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": `${queue}.expired`,
        "x-dead-letter-strategy": "at-least-once",
      });
      for (const pattern of topics) await channel.bindQueue(name, exchange, `${partition}.${bindingOf(pattern)}`);
    }
  } finally {
    await session.close();
  }
}

function assertQuorum(channel: AmqpChannel, name: string, settings: Readonly<Record<string, unknown>>): Promise<void> {
  return asIs(`queue ${name}`, () =>
    channel.assertQueue(name, { durable: true, arguments: { "x-queue-type": "quorum", ...settings } }),
  );
}

/** What exists with other settings is not ours to change. */
async function asIs(what: string, run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (replyCodeOf(error) !== preconditionFailed) throw error;
    const words = error instanceof Error ? error.message : String(error);
    throw new IchidoError("option-invalid", `RabbitMQ ${what} exists with other settings: ${words}`, { cause: error });
  }
}
