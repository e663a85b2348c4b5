/** A process of its own for `mysql-processes.test.ts`: waits for `go`, then claims every key so many times at once. */
import { createInterface } from "node:readline";
import { mysqlStore } from "ichido/mysql";
import { openClient } from "./mysql-clients.ts";
import type { Driver } from "./mysql-clients.ts";
import { request } from "./mysql-life.ts";

const [driver, url = "", name, keys, claims] = process.argv.slice(2);
const client = openClient(driver as Driver, url, { connections: 8 });
const store = mysqlStore(client.pool);
await store.ping();
console.log("ready");
for await (const _ of createInterface({ input: process.stdin })) break;

const answers: { key: string; outcome: string }[] = [];
const order = Array.from({ length: Number(keys) }, (_, index) => index);
// From both ends, so that neither process is always ahead of the other.
if (driver === "mariadb") order.reverse();
for (const index of order) {
  const key = `key-${index}`;
  const asked = Array.from({ length: Number(claims) }, (__, turn) =>
    store.claim(request(key, `${name} ${index} ${turn}`)),
  );
  for (const { outcome } of await Promise.all(asked)) answers.push({ key, outcome });
}
console.log(`answers ${JSON.stringify(answers)}`);
await client.end();
process.stdin.destroy();
