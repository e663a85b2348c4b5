/**
 * What `connect` of `amqplib` makes, as far as it is used here. Such a connection does not come back once it is closed, so the
 * user gives a function that makes one.
 */
import { withDeadline } from "../core/contract/deadline.ts";
import type { Environment } from "../core/contract/environment.ts";
import { asError } from "./hand-out.ts";

interface Emitter {
  on(event: string, listener: (...args: never[]) => void): unknown;
}

export interface AmqpMessage {
  readonly content: Buffer;
  readonly fields: { readonly deliveryTag: number; readonly redelivered?: boolean };
  readonly properties: {
    readonly messageId?: unknown;
    readonly contentType?: unknown;
    readonly headers?: Readonly<Record<string, unknown>> | undefined;
  };
}

export interface AmqpChannel extends Emitter {
  assertExchange(exchange: string, type: string, options?: { durable?: boolean }): Promise<unknown>;
  checkExchange(exchange: string): Promise<unknown>;
  assertQueue(
    queue: string,
    options?: { durable?: boolean; arguments?: Readonly<Record<string, unknown>> },
  ): Promise<unknown>;
  checkQueue(queue: string): Promise<unknown>;
  bindQueue(queue: string, exchange: string, pattern: string): Promise<unknown>;
  prefetch(count: number): Promise<unknown>;
  consume(queue: string, callback: (message: AmqpMessage | null) => void): Promise<unknown>;
  ack(message: AmqpMessage): void;
  nack(message: AmqpMessage, allUpTo?: boolean, requeue?: boolean): void;
  close(): Promise<void>;
}

export interface AmqpPublishOptions {
  mandatory?: boolean;
  persistent?: boolean;
  messageId?: string;
  contentType?: string;
  headers?: Record<string, string>;
}

export interface AmqpConfirmChannel extends AmqpChannel {
  /** `false`: taken, but wait for `drain` before the next one. */
  publish(
    exchange: string,
    routingKey: string,
    content: Buffer,
    options?: AmqpPublishOptions,
    confirmed?: (error: unknown) => void,
  ): boolean;
}

export interface AmqpConnection extends Emitter {
  createChannel(): Promise<AmqpChannel>;
  createConfirmChannel(): Promise<AmqpConfirmChannel>;
  close(): Promise<void>;
}

export type AmqpConnect = () => Promise<AmqpConnection>;

const connectMsMax = 30_000;
const closeMsMax = 5_000;

/** A connection with one channel, until either of them is gone. */
export class RabbitmqSession<Channel extends AmqpChannel> {
  readonly connection: AmqpConnection;
  readonly channel: Channel;
  readonly #environment: Environment;
  readonly #lost = Promise.withResolvers<Error>();
  #open = true;
  #cause: Error | undefined;

  static async open<Channel extends AmqpChannel>(
    connect: AmqpConnect,
    environment: Environment,
    createChannel: (connection: AmqpConnection) => Promise<Channel>,
  ): Promise<RabbitmqSession<Channel>> {
    const discard = (late: AmqpConnection): void => void late.close().catch(() => undefined);
    const connection = await withDeadline(environment, connectMsMax, connect, discard);
    // Without a listener an error would end the process.
    connection.on("error", () => undefined);
    try {
      const channel = await withDeadline(environment, connectMsMax, () => createChannel(connection));
      return new RabbitmqSession(connection, channel, environment);
    } catch (error) {
      discard(connection);
      throw error;
    }
  }

  static openPlain(connect: AmqpConnect, environment: Environment): Promise<RabbitmqSession<AmqpChannel>> {
    return RabbitmqSession.open(connect, environment, async (connection) => {
      const channel = await connection.createChannel();
      channel.on("error", () => undefined);
      return channel;
    });
  }

  private constructor(connection: AmqpConnection, channel: Channel, environment: Environment) {
    this.connection = connection;
    this.channel = channel;
    this.#environment = environment;
    const remember = (error: Error): void => {
      this.#cause ??= error;
    };
    connection.on("error", remember);
    channel.on("error", remember);
    connection.on("close", () => this.#end("connection closed"));
    channel.on("close", () => {
      // A channel that was closed alone leaves its connection behind.
      if (this.#end("channel closed")) void this.connection.close().catch(() => undefined);
    });
  }

  get open(): boolean {
    return this.#open;
  }

  /** Resolves once it is of no use any more, for whatever reason. */
  get lost(): Promise<Error> {
    return this.#lost.promise;
  }

  /** Ends both; what was delivered and not answered goes back to its queue. */
  async close(): Promise<void> {
    this.#end("closed by this program");
    const within = (run: () => Promise<unknown>): Promise<unknown> =>
      withDeadline(this.#environment, closeMsMax, run).catch(() => undefined);
    // The channel first: its last answers would be overtaken by the end of the connection.
    await within(() => this.channel.close());
    await within(() => this.connection.close());
  }

  /** Whether it was of use until now. */
  #end(what: string): boolean {
    if (!this.#open) return false;
    this.#open = false;
    this.#lost.resolve(new Error(`rabbitmq: ${this.#cause?.message ?? what}`, { cause: this.#cause }));
    return true;
  }
}

/** Of AMQP: what the server says when it closes a channel. */
export function replyCodeOf(error: unknown): number | undefined {
  const { code } = asError(error) as Error & { readonly code?: unknown };
  return typeof code === "number" ? code : undefined;
}
