/**
 * A consumer process of its own: prints every event it is handed, acknowledges the first `acks` of them, and keeps the
 * next one until a line comes in; then it acknowledges that one and all that follow.
 */
import { createInterface } from "node:readline";
import { redisStreamsSubscription } from "ichido/redis-streams";
import { openClient } from "../stores/redis-clients.ts";
import type { Driver } from "../stores/redis-clients.ts";

const [driver, url = "", stream = "", ackWaitMs, acks] = process.argv.slice(2);
const client = await openClient(driver as Driver, url);
const subscription = redisStreamsSubscription(client.client, {
  stream,
  group: "suite",
  partitions: 1,
  ackWaitMs: Number(ackWaitMs),
  callTimeoutMs: 1_000,
});
const told = new Promise<void>((resolve) => createInterface({ input: process.stdin }).once("line", () => resolve()));
let taken = 0;
await subscription.start({
  async take(delivery) {
    taken += 1;
    console.log(`took ${delivery.message.id}`);
    if (taken > Number(acks)) await told;
    await delivery.ack();
    console.log(`acked ${delivery.message.id}`);
  },
  unreadable: async () => undefined,
});
console.log("ready");
