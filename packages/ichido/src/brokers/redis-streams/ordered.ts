/** One partition: holds a few entries, hands them out one after the other, and takes more when all are acknowledged. */
import type { Consumer } from "./consumer.ts";
import type { Entry } from "./entry.ts";

export async function runOrdered(consumer: Consumer, stream: string): Promise<void> {
  while (!consumer.stopping) {
    try {
      const { deliveries, entries } = await consumer.takeOrdered(stream);
      consumer.recovered();
      if (entries.length === 0) await consumer.idle(stream);
      else {
        consumer.busy(stream);
        await handOutAll(consumer, stream, entries, deliveries);
      }
    } catch (error) {
      await consumer.failed(error);
    }
  }
}

async function handOutAll(consumer: Consumer, stream: string, entries: readonly Entry[], first: number): Promise<void> {
  let deliveries = first;
  for (const [index, entry] of entries.entries()) {
    const rest = entries.slice(index).map(({ id }) => id);
    if (consumer.stopping) return consumer.giveBack(stream, rest, 0);
    const one = consumer.hand(entry, deliveries, {
      async ack() {
        deliveries = await consumer.ack(stream, entry.id, rest[1] ?? "");
      },
      // What comes after it must not overtake it.
      giveBack: (delayMs) => consumer.giveBack(stream, rest, delayMs),
      // All of them: its own entry may have been acknowledged by a former holder that came late.
      renew: () => consumer.renew(stream, rest),
    });
    const outcome = await one.outcome;
    if (outcome !== "acked" || deliveries === 0) return;
  }
}
