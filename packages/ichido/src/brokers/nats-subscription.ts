/**
 * Deliveries from durable pull consumers. With order `key` there is one consumer per partition, of which the server
 * lets one delivery at a time be unanswered, over all processes: the next of a key cannot overtake, whichever process
 * dies.
 */
import { randomBytes } from "node:crypto";
import { DeadlineExceeded, withDeadline } from "../core/contract/deadline.ts";
import { IchidoError, isIchidoError } from "../core/contract/errors.ts";
import type { Subscription, Taker } from "./broker.ts";
import { asError } from "./hand-out.ts";
import { NatsLink, type NatsConnection } from "./nats-connection.ts";
import { Puller } from "./nats-puller.ts";
import { checkConsumer, checkSubscribedStream } from "./nats-stream.ts";
import {
  resolveSubscription,
  type NatsSubscriptionOptions,
  type ResolvedSubscription,
} from "./nats-subscription-options.ts";

const drainMsDefault = 10_000;
/** Bounds the last messages to the server at the end: unsubscribing, sending answers. */
const unsubscribeMs = 2_000;

export function natsSubscription(options: NatsSubscriptionOptions): Subscription {
  return new PullSubscription(resolveSubscription(options));
}

class PullSubscription implements Subscription {
  readonly name = "nats";
  readonly redeliveryMsMax: number;
  readonly ackWaitMs: number;
  readonly topics: readonly string[];
  readonly #options: ResolvedSubscription;
  #link: NatsLink | undefined;
  #pullers: readonly Puller[] = [];

  constructor(options: ResolvedSubscription) {
    this.#options = options;
    this.redeliveryMsMax = options.redeliveryMsMax;
    this.ackWaitMs = options.ackWaitMs;
    this.topics = options.topics;
  }

  async start(taker: Taker): Promise<void> {
    if (this.#link !== undefined)
      throw new IchidoError("usage-invalid", "this NATS subscription is started already; stop it first");
    const { connection: source, environment } = this.#options;
    const disturbed = (error: Error): void => taker.disturbed?.(error);
    let running = false;
    const attach = (connection: NatsConnection): void => {
      for (const puller of this.#pullers) puller.attach(connection);
    };
    const link = new NatsLink(source, environment, {
      lost: (error) => {
        disturbed(error);
        for (const puller of this.#pullers) puller.detach();
        if (typeof source === "function") void link.openPatiently(disturbed);
      },
      back: (connection) => {
        if (!running) return;
        disturbed(new Error("nats: connected again"));
        attach(connection);
      },
    });
    this.#link = link;
    this.#pullers = this.#createPullers(taker, link);
    const bring = async (): Promise<void> => {
      const connection = await link.open();
      await this.#check(connection);
      running = true;
      attach(connection);
    };
    try {
      await bring();
    } catch (error) {
      // What is wrong with the settings is said at once; a server that is away is waited for.
      if (isIchidoError(error)) {
        await this.stop({ drainMs: 0 });
        throw error;
      }
      disturbed(asError(error));
      void this.#keepTrying(link, bring, disturbed);
    }
  }

  async stop(options: { readonly drainMs?: number } = {}): Promise<void> {
    const link = this.#link;
    if (link === undefined) return;
    const pullers = this.#pullers;
    const { environment } = this.#options;
    const within = (limitMs: number, run: () => Promise<unknown>): Promise<unknown> =>
      withDeadline(environment, Math.max(1, limitMs), run).catch((error: unknown) => {
        if (!(error instanceof DeadlineExceeded)) throw error;
      });
    await within(unsubscribeMs, () => Promise.all(pullers.map((puller) => puller.end())));
    await within(options.drainMs ?? drainMsDefault, () => Promise.all(pullers.map((puller) => puller.idle())));
    for (const puller of pullers) puller.giveBack();
    await within(unsubscribeMs, async () => link.current?.flush().catch(() => undefined));
    await link.close();
    this.#link = undefined;
    this.#pullers = [];
  }

  #createPullers(taker: Taker, link: NatsLink): readonly Puller[] {
    const { apiPrefix, consumers, environment, inboxPrefix, stream, topics } = this.#options;
    const answer = (reply: string, payload: string): void => {
      try {
        link.connection?.publish(reply, payload);
      } catch (error) {
        // The server will hand it out again; the inbox knows what was done.
        taker.disturbed?.(asError(error));
      }
    };
    return consumers.map(
      ({ name, limit }) =>
        new Puller({
          environment,
          taker,
          topics,
          limit,
          answer,
          nextSubject: `${apiPrefix}.CONSUMER.MSG.NEXT.${stream}.${name}`,
          infoSubject: `${apiPrefix}.CONSUMER.INFO.${stream}.${name}`,
          callMs: unsubscribeMs,
          inbox: `${inboxPrefix}.${randomBytes(12).toString("hex")}`,
        }),
    );
  }

  async #check(connection: NatsConnection): Promise<void> {
    await checkSubscribedStream(connection, this.#options);
    const found = await Promise.all(
      this.#options.consumers.map(({ name }) => checkConsumer(connection, this.#options, name)),
    );
    const missing = this.#options.consumers.filter((_, index) => found[index] !== true).map(({ name }) => name);
    if (missing.length > 0)
      throw new IchidoError(
        "option-invalid",
        `NATS stream ${this.#options.stream} lacks the consumers ${missing.join(", ")}; create them with ensureNatsConsumers`,
      );
  }

  async #keepTrying(link: NatsLink, bring: () => Promise<void>, disturbed: (error: Error) => void): Promise<void> {
    for (;;) {
      await link.openPatiently(disturbed);
      if (this.#link !== link) return;
      try {
        await bring();
        return;
      } catch (error) {
        disturbed(asError(error));
        await new Promise<void>((resolve) => this.#options.environment.after(1_000, resolve));
      }
    }
  }
}
