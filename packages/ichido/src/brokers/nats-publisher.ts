/**
 * Publishes to JetStream and waits for the stream's acknowledgement. The message id is made of the event's id and content,
 * so that the server drops a copy within its duplicate window, and never another event that has the same id.
 *
 * `rejected`: larger than the server or the stream takes, or any other answer of class 4xx. Everything else is
 * `unavailable`, also a stream that is missing or has unsafe settings: that is no event's fault, and no event shall become a
 * dead letter by it.
 */
import type { Environment } from "../core/contract/environment.ts";
import { withDeadline } from "../core/contract/deadline.ts";
import { aFunction, environment, readOptions } from "../core/contract/read-options.ts";
import type { Published, Publisher } from "./broker.ts";
import { asError } from "./hand-out.ts";
import { headersOf } from "./headers.ts";
import type { EventMessage } from "./message.ts";
import { copyIdOf } from "./print.ts";
import { apiPrefix, isNoResponders, JetStreamFault, readAnswer, streamInfo } from "./nats-api.ts";
import { natsSource, NatsLink, type NatsConnection, type NatsHeaders, type NatsSource } from "./nats-connection.ts";
import { checkStream, subjectOf } from "./nats-stream.ts";
import { callTimeoutMs, dottedOption, nameOption, partitions } from "./option-checks.ts";

export interface NatsPublisherOptions {
  /** From `connect` of the NATS client, with `maxReconnectAttempts: -1`; or a function that makes one, which is then closed here. */
  readonly connection: NatsSource;
  /** The function `headers` that the NATS client exports. */
  readonly headers: () => NatsHeaders;
  readonly stream: string;
  readonly subjectPrefix: string;
  /** The same number as the stream's. Default 8. */
  readonly partitions?: number;
  /** How long to wait for the acknowledgement. Default 5 000. */
  readonly callTimeoutMs?: number;
  readonly apiPrefix?: string;
  readonly environment?: Environment;
}

/** `NATS/1.0` and the ends of lines. */
const headerBytesBase = 12;
const headerBytesEach = 3;

const optionTable = {
  connection: natsSource,
  headers: aFunction<() => NatsHeaders>("the function headers of the NATS client"),
  stream: nameOption,
  subjectPrefix: dottedOption,
  partitions,
  callTimeoutMs,
  apiPrefix,
  environment,
};

export function natsPublisher(options: NatsPublisherOptions): Publisher {
  const wish = readOptions("natsPublisher", options, optionTable);
  const { stream, subjectPrefix, partitions, callTimeoutMs, environment } = wish;
  const link = new NatsLink(wish.connection, environment);
  let checked: NatsConnection | undefined;

  /** Once per connection: a stream with unsafe settings gets nothing. */
  async function ready(): Promise<NatsConnection> {
    const connection = await link.open();
    if (checked === connection) return connection;
    checkStream(await streamInfo(connection, wish.apiPrefix, stream, callTimeoutMs), wish);
    checked = connection;
    return connection;
  }

  async function send(connection: NatsConnection, message: EventMessage): Promise<Published> {
    const fields = headersOf(message);
    const refusal = tooLarge(connection, message, fields);
    if (refusal !== undefined) return { outcome: "rejected", error: refusal };
    const headers = wish.headers();
    for (const [name, value] of Object.entries(fields)) headers.set(name, value);
    headers.set("Nats-Msg-Id", copyIdOf(message));
    headers.set("Nats-Expected-Stream", stream);
    const subject = subjectOf(message, subjectPrefix, partitions);
    const answer = await connection.request(subject, message.payload, { timeout: callTimeoutMs, headers });
    readAnswer(answer.data);
    return { outcome: "sent" };
  }

  return {
    name: "nats",
    async publish(message) {
      try {
        const connection = link.current;
        if (connection !== undefined && connection === checked) return await send(connection, message);
        return await send(await withDeadline(environment, callTimeoutMs, ready), message);
      } catch (error) {
        if (error instanceof JetStreamFault && error.fault.code < 500) return { outcome: "rejected", error };
        // The stream may have been removed or made anew: look again before the next one.
        checked = undefined;
        if (!isNoResponders(error)) return { outcome: "unavailable", error: asError(error) };
        const why = `nats: nobody takes ${subjectPrefix}; is JetStream up and stream ${stream} there?`;
        return { outcome: "unavailable", error: new Error(why, { cause: error }) };
      }
    },
    close: () => link.close(),
  };
}

function tooLarge(
  connection: NatsConnection,
  message: EventMessage,
  headers: Readonly<Record<string, string>>,
): Error | undefined {
  const bytesMax = connection.info?.max_payload;
  if (bytesMax === undefined) return undefined;
  let bytes = message.payload.length + headerBytesBase;
  for (const [name, value] of Object.entries(headers)) bytes += name.length + value.length + headerBytesEach;
  if (bytes <= bytesMax - reservedBytes(message)) return undefined;
  return new Error(`nats: event ${message.id} has ${bytes} bytes with its headers; the server takes ${bytesMax}`);
}

/** The two headers that are not the event's own. */
function reservedBytes(message: EventMessage): number {
  return message.id.length + 300;
}
