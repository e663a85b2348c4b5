/** Without order: as many as there are free places, new entries and those that others left alone for too long. */
import type { Consumer } from "./consumer.ts";
import type { Entry } from "./entry.ts";

/** The one loop goes round all streams, so it pauses and is woken under one name. */
export const allStreams = "";
const lookMsMin = 20;
const lookMsMax = 1_000;
const beginning = "0-0";

export async function runUnordered(consumer: Consumer, streams: readonly string[]): Promise<void> {
  const { settings, environment } = consumer;
  const lookEveryMs = Math.min(lookMsMax, Math.max(lookMsMin, settings.ackWaitMs / 10));
  const running = new Set<Promise<unknown>>();
  const looks = new Map(streams.map((stream) => [stream, { cursor: beginning, atMs: -Infinity }]));

  async function fill(stream: string): Promise<boolean> {
    const nowMs = environment.monotonicMs();
    const last = looks.get(stream) ?? { cursor: beginning, atMs: -Infinity };
    // Going on where the last look ended, until it comes round to the beginning.
    const look = nowMs - last.atMs >= lookEveryMs || last.cursor !== beginning;
    const result = await consumer.takeAny(stream, settings.concurrency - running.size, look ? last.cursor : "");
    consumer.recovered();
    if (look) looks.set(stream, { cursor: result.cursor, atMs: nowMs });
    if (consumer.stopping) {
      const ids = result.taken.map(({ entry }) => entry.id);
      await consumer.giveBack(stream, ids, 0);
      return false;
    }
    for (const { deliveries, entry } of result.taken) {
      const over: Promise<unknown> = hand(consumer, stream, entry, deliveries).finally(() => running.delete(over));
      running.add(over);
    }
    return result.taken.length > 0 || (look && result.cursor !== beginning);
  }

  async function round(): Promise<void> {
    let found = false;
    for (const stream of streams) {
      while (running.size >= settings.concurrency) await Promise.race(running);
      if (consumer.stopping) return;
      if (await fill(stream)) found = true;
    }
    if (found) consumer.busy(allStreams);
    else await consumer.idle(allStreams);
  }

  while (!consumer.stopping) {
    try {
      await round();
    } catch (error) {
      await consumer.failed(error);
    }
  }
  await Promise.all(running);
}

async function hand(consumer: Consumer, stream: string, entry: Entry, deliveries: number): Promise<void> {
  const one = consumer.hand(entry, deliveries, {
    ack: async () => void (await consumer.ack(stream, entry.id, "")),
    giveBack: (delayMs) => consumer.giveBack(stream, [entry.id], delayMs),
    renew: () => consumer.renew(stream, [entry.id]),
  });
  await one.outcome;
}
