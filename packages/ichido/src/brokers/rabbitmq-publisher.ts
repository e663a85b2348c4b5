/**
 * Publishes with confirms to a topic exchange, routing key `<partition>.<topic>`. Every event is mandatory: one that no queue
 * takes comes back before its confirm, and is `rejected`.
 *
 * A negative confirm is `unavailable`: a queue is full, or failed; the same event may pass later. So is a channel that the
 * server closes, because it does not say on account of which event; what would make it do so is checked here beforehand.
 */
import { DeadlineExceeded, withDeadline } from "../core/contract/deadline.ts";
import type { Environment } from "../core/contract/environment.ts";
import { environment, integer, readOptions, type ReadBy } from "../core/contract/read-options.ts";
import { Opening } from "./backoff.ts";
import type { Published, Publisher } from "./broker.ts";
import { asError } from "./hand-out.ts";
import { headersOf } from "./headers.ts";
import type { EventMessage } from "./message.ts";
import { amqpConnect, callTimeoutMs, dottedOption, partitions } from "./option-checks.ts";
import { RabbitmqSession, type AmqpConfirmChannel, type AmqpConnect } from "./rabbitmq-connection.ts";
import { routingKeyOf } from "./rabbitmq-topology.ts";

export interface RabbitmqPublisherOptions {
  /** Makes a connection, such as `() => amqp.connect(url)`; called again after it is lost. It is closed here. */
  readonly connect: AmqpConnect;
  readonly exchange: string;
  /** The same number as the queues'. Default 8. */
  readonly partitions?: number;
  /** How long to wait for the confirm. Default 5 000. */
  readonly callTimeoutMs?: number;
  /** The server's `max_message_size`, beyond which it would close the channel for all. Default 134 217 728, as the server's. */
  readonly messageBytesMax?: number;
  readonly environment?: Environment;
}

const messageBytesMaxDefault = 134_217_728;
const messageBytesLimit = 536_870_912;
/** They travel in one frame, of 131 072 bytes by default. */
const headerBytesMax = 100_000;
const contentTypeBytesMax = 255;

interface Line {
  readonly session: RabbitmqSession<AmqpConfirmChannel>;
  /** How many copies of an id came back and were not confirmed yet. */
  readonly returned: Map<string, number>;
  /** The socket is full. */
  full: PromiseWithResolvers<void> | undefined;
  /** The server takes nothing from any publisher: it is short of memory or disk. */
  blocked: string | undefined;
  confirms: number;
}

const optionTable = {
  connect: amqpConnect,
  exchange: dottedOption,
  partitions,
  callTimeoutMs,
  messageBytesMax: integer(1, messageBytesLimit, messageBytesMaxDefault),
  environment,
};

export function rabbitmqPublisher(options: RabbitmqPublisherOptions): Publisher {
  return new ConfirmedPublisher(readOptions("rabbitmqPublisher", options, optionTable));
}

class ConfirmedPublisher implements Publisher {
  readonly name = "rabbitmq";
  readonly #settings: ReadBy<typeof optionTable>;
  readonly #opening: Opening<Line>;
  #line: Line | undefined;

  constructor(settings: ReadBy<typeof optionTable>) {
    this.#settings = settings;
    this.#opening = new Opening(settings.environment, () => this.#make());
  }

  async publish(message: EventMessage): Promise<Published> {
    const headers = headersOf(message);
    const refusal = this.#refusalOf(message, headers);
    if (refusal !== undefined) return { outcome: "rejected", error: refusal };
    const attempt = { over: false };
    const line = this.#line;
    const confirms = line?.confirms;
    try {
      const { environment, callTimeoutMs } = this.#settings;
      return await withDeadline(environment, callTimeoutMs, () => this.#attempt(message, headers, attempt));
    } catch (error) {
      attempt.over = true;
      // The server did not answer for that long: the connection may be dead without having noticed.
      if (error instanceof DeadlineExceeded && line !== undefined && line.confirms === confirms) this.#leave(line);
      return unavailable(asError(error));
    }
  }

  async close(): Promise<void> {
    const last = this.#opening.end(new Error("rabbitmq: publisher is closed"));
    const line = this.#line ?? (await last);
    await line?.session.close();
  }

  async #attempt(
    message: EventMessage,
    headers: Record<string, string>,
    attempt: { readonly over: boolean },
  ): Promise<Published> {
    const line = this.#line ?? (await this.#opening.open());
    while (line.full !== undefined && line.session.open) await line.full.promise;
    // Its caller has stopped waiting; sent now, it would only be one more copy.
    if (attempt.over) return unavailable(new Error("rabbitmq: too late"));
    if (!line.session.open) return unavailable(await line.session.lost);
    if (line.blocked !== undefined)
      return unavailable(new Error(`rabbitmq: the server blocks publishers: ${line.blocked}`));
    return this.#send(line, message, headers);
  }

  #send(line: Line, message: EventMessage, headers: Record<string, string>): Promise<Published> {
    return new Promise((resolve) => {
      const { "content-type": contentType, ...rest } = headers;
      const { buffer, byteOffset, byteLength } = message.payload;
      try {
        const room = line.session.channel.publish(
          this.#settings.exchange,
          routingKeyOf(message, this.#settings.partitions),
          Buffer.from(buffer, byteOffset, byteLength),
          { mandatory: true, persistent: true, messageId: message.id, contentType: contentType ?? "", headers: rest },
          (error) => resolve(this.#confirmed(line, message, error)),
        );
        if (!room) line.full ??= Promise.withResolvers<void>();
      } catch (error) {
        const fault = asError(error);
        // A channel in the course of closing refuses everything; any other complaint is about this event.
        resolve(
          fault.name === "IllegalOperationError" ? unavailable(fault) : { outcome: "rejected" as const, error: fault },
        );
      }
    });
  }

  #confirmed(line: Line, message: EventMessage, error: unknown): Published {
    line.confirms += 1;
    const key = routingKeyOf(message, this.#settings.partitions);
    const place = returnOf(key, message.id);
    const returned = line.returned.get(place) ?? 0;
    if (returned > 0) {
      if (returned === 1) line.returned.delete(place);
      else line.returned.set(place, returned - 1);
      return {
        outcome: "rejected",
        error: new Error(
          `rabbitmq: no queue of exchange ${this.#settings.exchange} is bound for ${key}; event came back`,
        ),
      };
    }
    if (error === null || error === undefined) return { outcome: "sent" };
    return unavailable(new Error(`rabbitmq: not confirmed: ${asError(error).message}`, { cause: error }));
  }

  async #make(): Promise<Line> {
    const { connect, environment, exchange } = this.#settings;
    const session = await RabbitmqSession.open(connect, environment, async (connection) => {
      const channel = await connection.createConfirmChannel();
      channel.on("error", () => undefined);
      await channel.checkExchange(exchange);
      return channel;
    });
    const line: Line = { session, returned: new Map(), full: undefined, blocked: undefined, confirms: 0 };
    this.#listen(line);
    this.#line = line;
    return line;
  }

  #listen(line: Line): void {
    const { channel, connection } = line.session;
    const drained = (): void => {
      line.full?.resolve();
      line.full = undefined;
    };
    channel.on("drain", drained);
    channel.on("return", ({ fields: { routingKey }, properties: { messageId } }: Returned) => {
      if (typeof messageId !== "string") return;
      const place = returnOf(routingKey, messageId);
      line.returned.set(place, (line.returned.get(place) ?? 0) + 1);
    });
    connection.on("blocked", (reason: string) => {
      line.blocked = String(reason);
    });
    connection.on("unblocked", () => {
      line.blocked = undefined;
    });
    void line.session.lost.then(() => {
      if (this.#line === line) this.#line = undefined;
      drained();
    });
  }

  #leave(line: Line): void {
    if (this.#line === line) this.#line = undefined;
    void line.session.close();
  }

  #refusalOf(message: EventMessage, headers: Readonly<Record<string, string>>): Error | undefined {
    const { length } = message.payload;
    if (length > this.#settings.messageBytesMax)
      return new Error(
        `rabbitmq: event ${message.id} has ${length} bytes; at most ${this.#settings.messageBytesMax} are taken`,
      );
    const headerBytes = Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + value.length, 0);
    if (headerBytes > headerBytesMax)
      return new Error(`rabbitmq: event ${message.id} has ${headerBytes} bytes of headers; at most ${headerBytesMax}`);
    if (Buffer.byteLength(message.contentType) > contentTypeBytesMax)
      return new Error(`rabbitmq: the content type of event ${message.id} is longer than ${contentTypeBytesMax} bytes`);
    return undefined;
  }
}

interface Returned {
  readonly fields: { readonly routingKey: string };
  readonly properties: { readonly messageId?: unknown };
}

/** An event that came back differs from another one with the same id by where it was to go. */
function returnOf(routingKey: string, messageId: string): string {
  return `${routingKey} ${messageId}`;
}

function unavailable(error: Error): Published {
  return { outcome: "unavailable", error };
}
