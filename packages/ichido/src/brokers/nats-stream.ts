/**
 * Streams and consumers that keep what the contract promises. Nothing is changed that exists: what is there with other
 * settings is refused by name, because only its owner knows who else relies on it.
 *
 * Subjects are `<prefix>.<partition>.<topic>`: a number for events with a key, `u` for those without. Publisher and
 * subscription must agree on the number of partitions, so the stream itself says it, in its description.
 */
import { integerOption } from "../core/contract/option-checks.ts";
import { given, integer, readOptions } from "../core/contract/read-options.ts";
import { systemEnvironment } from "../core/contract/environment.ts";
import { IchidoError } from "../core/contract/errors.ts";
import type { EventMessage } from "./message.ts";
import { natsSource, NatsLink, type NatsConnection, type NatsSource } from "./nats-connection.ts";
import {
  apiPrefix,
  ask,
  consumerInfo,
  faults,
  JetStreamFault,
  millis,
  nanos,
  streamInfo,
  type StreamConfig,
} from "./nats-api.ts";
import {
  resolveSubscription,
  type NatsSubscriptionOptions,
  type ResolvedSubscription,
} from "./nats-subscription-options.ts";
import { dayMs, dottedOption, keepMsDefault, keepMsMax, nameOption, partitions } from "./option-checks.ts";
import { partitionOf } from "./partition.ts";

export interface NatsStreamOptions {
  readonly connection: NatsSource;
  readonly stream: string;
  readonly subjectPrefix: string;
  readonly partitions?: number;
  /** How long an event is kept, taken or not. Default 7 days. */
  readonly maxAgeMs?: number;
  /** How long the server knows an id: longer than a relay may take to bring an event again. Default 2 minutes, the server's own. */
  readonly duplicateWindowMs?: number;
  readonly replicas?: number;
  readonly apiPrefix?: string;
}

/** Shorter than this, a relay that is started again may come too late to be recognised. */
const duplicateWindowMsMin = 60_000;
const duplicateWindowMsDefault = 120_000;
const callMs = 10_000;

export function subjectOf(message: EventMessage, prefix: string, partitions: number): string {
  const partition = message.key === undefined ? "u" : partitionOf(message.key, partitions);
  return `${prefix}.${partition}.${message.topic}`;
}

const partitionsNote = (partitions: number): string => `ichido:partitions=${partitions}`;

export interface StreamWish {
  readonly stream: string;
  readonly subjectPrefix: string;
  readonly partitions: number;
  readonly apiPrefix: string;
}

/** Throws `option-invalid` when the stream would lose or double what was entrusted to it. */
export function checkStream(
  config: (StreamConfig & { readonly description?: string }) | undefined,
  wish: StreamWish,
): void {
  const { stream } = wish;
  if (config === undefined) throw unsafe(stream, "does not exist; create it with ensureNatsStream");
  const note = /ichido:partitions=(\d+)/.exec(config.description ?? "")?.[1];
  if (note === undefined)
    throw unsafe(stream, `does not say its partitions; add "${partitionsNote(wish.partitions)}" to its description`);
  if (Number(note) !== wish.partitions)
    throw unsafe(stream, `has ${note} partitions, not ${wish.partitions}: events would go where nobody looks`);
  const subject = `${wish.subjectPrefix}.>`;
  if (config.subjects?.includes(subject) !== true) throw unsafe(stream, `does not take the subject ${subject}`);
  if (config.storage !== "file")
    throw unsafe(stream, `has storage ${config.storage}: a restart would lose it; use file`);
  if (config.no_ack === true) throw unsafe(stream, "has no_ack set: nobody would know whether an event was stored");
  if (config.sealed === true) throw unsafe(stream, "is sealed");
  if (config.retention === "interest")
    throw unsafe(stream, "has retention interest: events without a consumer would be dropped; use limits");
  if (config.max_msgs_per_subject > 0)
    throw unsafe(stream, "has max_msgs_per_subject set: newer events would push out older ones");
  if (config.discard === "old" && (config.max_msgs > 0 || config.max_bytes > 0))
    throw unsafe(stream, "has a size limit with discard old: newer events would push out older ones; use discard new");
  if (millis(config.duplicate_window) < duplicateWindowMsMin)
    throw unsafe(
      stream,
      `has a duplicate_window of ${millis(config.duplicate_window)} ms; at least ${duplicateWindowMsMin} is needed`,
    );
}

export function checkAge(config: StreamConfig | undefined, stream: string, redeliveryMsMax: number): void {
  if (config === undefined) return;
  const maxAgeMs = millis(config.max_age);
  if (maxAgeMs > 0 && maxAgeMs <= redeliveryMsMax) return;
  throw unsafe(
    stream,
    `has max_age ${maxAgeMs === 0 ? "unlimited" : `${maxAgeMs} ms`}, but redeliveryMsMax is ${redeliveryMsMax}: an inbox would forget events that may still come`,
  );
}

function unsafe(stream: string, what: string): IchidoError {
  return new IchidoError("option-invalid", `NATS stream ${stream} ${what}`);
}

const optionTable = {
  connection: natsSource,
  stream: nameOption,
  subjectPrefix: dottedOption,
  partitions,
  maxAgeMs: integer(duplicateWindowMsMin, keepMsMax, keepMsDefault),
  duplicateWindowMs: given<number | undefined>(),
  replicas: integer(1, 5, 1),
  apiPrefix,
};

/** Creates the stream, or checks the one that is there. */
export async function ensureNatsStream(options: NatsStreamOptions): Promise<void> {
  const wish = readOptions("ensureNatsStream", options, optionTable);
  const { stream, subjectPrefix, partitions, maxAgeMs, apiPrefix } = wish;
  const duplicateWindowMs = integerOption(
    "duplicateWindowMs",
    wish.duplicateWindowMs ?? Math.min(duplicateWindowMsDefault, maxAgeMs),
    duplicateWindowMsMin,
    Math.min(maxAgeMs, dayMs),
  );
  const config = {
    name: stream,
    description: partitionsNote(partitions),
    subjects: [`${subjectPrefix}.>`],
    retention: "limits",
    storage: "file",
    discard: "old",
    max_age: nanos(maxAgeMs),
    max_msgs: -1,
    max_bytes: -1,
    max_msgs_per_subject: -1,
    max_consumers: -1,
    duplicate_window: nanos(duplicateWindowMs),
    num_replicas: wish.replicas,
  };
  await withConnection(wish.connection, async (connection) => {
    let found = await streamInfo(connection, apiPrefix, stream, callMs);
    if (found === undefined) {
      try {
        await ask(connection, `${apiPrefix}.STREAM.CREATE.${stream}`, config, callMs);
        return;
      } catch (error) {
        // Another process creates it at the same time.
        if (!(error instanceof JetStreamFault) || error.fault.err_code !== faults.streamNameInUse) throw error;
      }
      found = await streamInfo(connection, apiPrefix, stream, callMs);
    }
    checkStream(found, wish);
    checkAge(found, stream, maxAgeMs);
  });
}

/** Creates the durable consumers of a subscription with the same options, or checks those that are there. */
export async function ensureNatsConsumers(options: NatsSubscriptionOptions): Promise<void> {
  const resolved = resolveSubscription(options);
  await withConnection(options.connection, async (connection) => {
    await checkSubscribedStream(connection, resolved);
    for (const consumer of resolved.consumers) {
      if (await checkConsumer(connection, resolved, consumer.name)) continue;
      await ask(
        connection,
        `${resolved.apiPrefix}.CONSUMER.DURABLE.CREATE.${resolved.stream}.${consumer.name}`,
        {
          stream_name: resolved.stream,
          config: {
            durable_name: consumer.name,
            deliver_policy: "all",
            ack_policy: "explicit",
            replay_policy: "instant",
            ack_wait: nanos(resolved.ackWaitMs),
            max_deliver: -1,
            max_ack_pending: consumer.pendingMax,
            filter_subject: consumer.filter,
          },
        },
        callMs,
      );
    }
  });
}

export async function checkSubscribedStream(connection: NatsConnection, wish: ResolvedSubscription): Promise<void> {
  const config = await streamInfo(connection, wish.apiPrefix, wish.stream, callMs);
  checkStream(config, wish);
  checkAge(config, wish.stream, wish.redeliveryMsMax);
}

/** Whether it exists; throws when it would not keep order or would give up on events. */
export async function checkConsumer(
  connection: NatsConnection,
  wish: ResolvedSubscription,
  name: string,
): Promise<boolean> {
  const wanted = wish.consumers.find((each) => each.name === name);
  const config = await consumerInfo(connection, wish.apiPrefix, wish.stream, name, callMs);
  if (config === undefined || wanted === undefined) return false;
  const differences = [
    config.deliver_subject === undefined || config.deliver_subject === "" ? "" : "is a push consumer",
    config.ack_policy === "explicit" ? "" : `has ack_policy ${config.ack_policy}, not explicit`,
    config.deliver_policy === "all" ? "" : `has deliver_policy ${config.deliver_policy}, not all`,
    config.max_deliver === -1 ? "" : `has max_deliver ${config.max_deliver}: events would be given up silently`,
    config.max_ack_pending === wanted.pendingMax
      ? ""
      : `has max_ack_pending ${config.max_ack_pending}, not ${wanted.pendingMax}`,
    config.filter_subject === wanted.filter ? "" : `has filter ${config.filter_subject}, not ${wanted.filter}`,
    millis(config.ack_wait) === wish.ackWaitMs
      ? ""
      : `has ack_wait ${millis(config.ack_wait)} ms, not ${wish.ackWaitMs}`,
  ].filter((difference) => difference !== "");
  if (differences.length === 0) return true;
  throw new IchidoError(
    "option-invalid",
    `NATS consumer ${name} of stream ${wish.stream} ${differences.join(", ")}; change the options, or delete the consumer once nothing is pending`,
  );
}

async function withConnection(source: NatsSource, run: (connection: NatsConnection) => Promise<void>): Promise<void> {
  const link = new NatsLink(source, systemEnvironment);
  try {
    await run(await link.open());
  } finally {
    await link.close();
  }
}
