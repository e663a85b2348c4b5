/** A process of its own for `redis-races.test.ts`: waits for `go`, then claims every key so many times at once. */
import { createInterface } from "node:readline";
import { redisStore } from "ichido/redis";
import { openClient } from "./redis-clients.ts";
import type { Driver } from "./redis-clients.ts";
import { request } from "./redis-load.ts";

const [driver, url = "", prefix = "", keys, claims] = process.argv.slice(2);
const client = await openClient(driver as Driver, url);
const store = redisStore(client.client, { prefix });
await store.ping();
console.log("ready");
for await (const _ of createInterface({ input: process.stdin })) break;

const answers: { key: string; outcome: string }[] = [];
const order = Array.from({ length: Number(keys) }, (_, index) => `key-${index}`);
// From both ends, so that neither process is always ahead of the other.
if (driver === "node-redis") order.reverse();
for (const key of order) {
  const asked = Array.from({ length: Number(claims) }, () => store.claim(request(key)));
  for (const { outcome } of await Promise.all(asked)) answers.push({ key, outcome });
}
console.log(`answers ${JSON.stringify(answers)}`);
await store.close();
await client.end();
process.stdin.destroy();
