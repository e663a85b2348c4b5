/**
 * A consumer group over all partitions. With order `key` each partition has a loop of its own that holds a few entries and
 * hands them out one after the other; without order one loop goes round all of them and fills up to `concurrency` places.
 * Either way a script decides who gets what (`lua/`), and consumers that died lose what they held after `ackWaitMs`.
 */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { IchidoError } from "../../core/contract/errors.ts";
import type { RedisClient } from "../../drivers/redis/client.ts";
import type { Subscription, Taker } from "../broker.ts";
import { createConsumer, type Consumer } from "./consumer.ts";
import { prepareGroups } from "./groups.ts";
import { streamsOf } from "./layout.ts";
import { resolveSubscription, type RedisStreamsSubscriptionOptions } from "./options.ts";
import { runOrdered } from "./ordered.ts";
import { serverOf } from "./server.ts";
import { allStreams, runUnordered } from "./unordered.ts";
import { listenForWakes } from "./wakes.ts";

/** Consumers that hold nothing and were not seen for so long are removed from the group when another one starts. */
const forgottenMs = 86_400_000;
const drainMsDefault = 10_000;

export function redisStreamsSubscription(client: RedisClient, options: RedisStreamsSubscriptionOptions): Subscription {
  const settings = resolveSubscription(options);
  const server = serverOf(client, settings.environment, settings.callTimeoutMs);
  const streams = streamsOf(settings);
  let running: { readonly consumer: Consumer; readonly loops: Promise<unknown>; stopWakes(): void } | undefined;

  async function start(taker: Taker): Promise<void> {
    if (running !== undefined)
      throw new IchidoError("usage-invalid", `subscription ${settings.name} is started already; stop it first`);
    // A name that no process ever had before: what is pending under it is its own.
    const name = `${hostname()}-${process.pid}-${randomUUID()}`;
    const consumer = createConsumer(server, settings, name, taker);
    const place = { consumer, loops: Promise.resolve() as Promise<unknown>, stopWakes: () => undefined as void };
    running = place;
    try {
      await prepareGroups(server, settings, settings.group, "start");
      await Promise.all(streams.map((stream) => consumer.leave(stream, forgottenMs)));
    } catch (error) {
      running = undefined;
      throw error;
    }
    if (settings.notify)
      place.stopWakes = listenForWakes(server.link, streams, (stream) =>
        consumer.wake(settings.order === "key" ? stream : allStreams),
      );
    place.loops =
      settings.order === "key"
        ? Promise.all(streams.map((stream) => runOrdered(consumer, stream)))
        : runUnordered(consumer, streams);
  }

  async function stop({ drainMs = drainMsDefault }: { readonly drainMs?: number } = {}): Promise<void> {
    const place = running;
    if (place === undefined) return;
    place.stopWakes();
    await place.consumer.stop(drainMs, place.loops);
    await Promise.all(streams.map((stream) => place.consumer.leave(stream, forgottenMs).catch(() => undefined)));
    if (running === place) running = undefined;
  }

  return {
    name: settings.name,
    redeliveryMsMax: settings.redeliveryMsMax,
    ackWaitMs: settings.ackWaitMs,
    start,
    stop,
  };
}
