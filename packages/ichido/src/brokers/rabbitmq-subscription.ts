/**
 * Deliveries from quorum queues. With order `key` there is a queue per partition whose single active consumer works one after
 * the other; when its channel is gone, the server gives all it had to the next one, in order.
 *
 * `stop` does not cancel its consumers first: the next one would become active beside deliveries that are still at work here.
 */
import { DeadlineExceeded, withDeadline } from "../core/contract/deadline.ts";
import type { Environment } from "../core/contract/environment.ts";
import { IchidoError, isIchidoError } from "../core/contract/errors.ts";
import { environment, integer, readOptions, type ReadBy } from "../core/contract/read-options.ts";
import { Backoff } from "./backoff.ts";
import type { Subscription, Taker } from "./broker.ts";
import { asError } from "./hand-out.ts";
import { amqpConnect, concurrency, dottedOption, order, partitions, redeliveryMsMax } from "./option-checks.ts";
import { RabbitmqSession, replyCodeOf, type AmqpChannel, type AmqpConnect } from "./rabbitmq-connection.ts";
import { RabbitmqLane } from "./rabbitmq-lane.ts";
import { queuesOf, type QueueWish } from "./rabbitmq-topology.ts";

export interface RabbitmqSubscriptionOptions {
  /** Makes a connection, such as `() => amqp.connect(url)`; called again after it is lost. It is closed here. */
  readonly connect: AmqpConnect;
  /** As given to `ensureRabbitmqTopology`. */
  readonly queue: string;
  readonly partitions?: number;
  readonly order?: "key" | "none";
  /** How many at once, of events without a key or with order `none`. Default 16. */
  readonly concurrency?: number;
  /** How many of a partition are fetched ahead. Default 16. */
  readonly prefetch?: number;
  /** At least the queues' `messageTtlMs`. Default 7 days. */
  readonly redeliveryMsMax?: number;
  readonly environment?: Environment;
}

const drainMsDefault = 10_000;
const notFound = 404;

const optionTable = {
  connect: amqpConnect,
  queue: dottedOption,
  partitions,
  order,
  concurrency,
  prefetch: integer(1, 1_000, 16),
  redeliveryMsMax,
  environment,
};

export function rabbitmqSubscription(options: RabbitmqSubscriptionOptions): Subscription {
  return new QueueSubscription(readOptions("rabbitmqSubscription", options, optionTable));
}

class QueueSubscription implements Subscription {
  readonly name = "rabbitmq";
  readonly redeliveryMsMax: number;
  readonly #settings: ReadBy<typeof optionTable>;
  readonly #queues: readonly QueueWish[];
  #lanes: readonly RabbitmqLane[] | undefined;
  #session: RabbitmqSession<AmqpChannel> | undefined;

  constructor(settings: ReadBy<typeof optionTable>) {
    this.#settings = settings;
    this.#queues = queuesOf(settings.queue, settings.order, settings.partitions);
    this.redeliveryMsMax = settings.redeliveryMsMax;
  }

  async start(taker: Taker): Promise<void> {
    if (this.#lanes !== undefined)
      throw new IchidoError("usage-invalid", "this RabbitMQ subscription is started already; stop it first");
    const { concurrency, prefetch, environment } = this.#settings;
    const lanes = this.#queues.map(
      ({ name, ordered }) =>
        new RabbitmqLane({
          queue: name,
          ordered,
          limit: ordered ? 1 : concurrency,
          // Deliveries that wait for another try hold a place: leave room beside them.
          prefetch: ordered ? prefetch : concurrency * 2,
          environment,
          taker,
        }),
    );
    this.#lanes = lanes;
    try {
      await this.#open(lanes);
    } catch (error) {
      // Missing queues are said at once; a server that is away is waited for.
      if (isIchidoError(error)) {
        this.#lanes = undefined;
        throw error;
      }
      taker.disturbed?.(asError(error));
    }
    void this.#stayOpen(lanes, taker);
  }

  async stop(options: { readonly drainMs?: number } = {}): Promise<void> {
    const lanes = this.#lanes;
    if (lanes === undefined) return;
    this.#lanes = undefined;
    for (const lane of lanes) lane.stop();
    const idle = (): Promise<unknown> => Promise.all(lanes.map((lane) => lane.idle()));
    await withDeadline(this.#settings.environment, Math.max(1, options.drainMs ?? drainMsDefault), idle).catch(
      (error: unknown) => {
        if (!(error instanceof DeadlineExceeded)) throw error;
      },
    );
    await this.#session?.close();
    this.#session = undefined;
  }

  async #open(lanes: readonly RabbitmqLane[]): Promise<void> {
    const session = await RabbitmqSession.openPlain(this.#settings.connect, this.#settings.environment);
    this.#session = session;
    try {
      for (const lane of lanes) await this.#consume(session, lane);
    } catch (error) {
      await session.close();
      throw error;
    }
    // Stopped meanwhile.
    if (this.#lanes !== lanes) await session.close();
  }

  async #consume(session: RabbitmqSession<AmqpChannel>, lane: RabbitmqLane): Promise<void> {
    const { channel } = session;
    try {
      await channel.checkQueue(lane.queue);
    } catch (error) {
      if (replyCodeOf(error) !== notFound) throw error;
      const what = `RabbitMQ queue ${lane.queue} does not exist; create it with ensureRabbitmqTopology`;
      throw new IchidoError("option-invalid", what, { cause: error });
    }
    await channel.prefetch(lane.prefetch);
    await channel.consume(lane.queue, (message) => {
      if (message !== null) lane.add(session, message);
      // The server cancelled it: the queue is gone, or has another leader.
      else void session.close();
    });
  }

  async #stayOpen(lanes: readonly RabbitmqLane[], taker: Taker): Promise<void> {
    const backoff = new Backoff(this.#settings.environment);
    while (this.#lanes === lanes) {
      const session = this.#session;
      if (session !== undefined) {
        const error = await session.lost;
        for (const lane of lanes) lane.drop();
        if (this.#lanes !== lanes) return;
        this.#session = undefined;
        taker.disturbed?.(error);
      }
      await new Promise<void>((resolve) => this.#settings.environment.after(backoff.next(), resolve));
      if (this.#lanes !== lanes) return;
      try {
        await this.#open(lanes);
        backoff.reset();
        taker.disturbed?.(new Error("rabbitmq: connected again"));
      } catch (error) {
        taker.disturbed?.(asError(error));
      }
    }
  }
}
