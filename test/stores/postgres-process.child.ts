/**
 * One of several processes that claim the same keys: `<database url> <process> <keys> <duplicates> <group>`. Waits for a
 * line on its standard input, then prints one JSON line with the keys it was granted and how often.
 */
import { once } from "node:events";
import pg from "pg";
import { postgresStore } from "ichido/postgres";
import { sampleResponse } from "../../packages/ichido/src/testing/store-suite/samples.ts";
import { request } from "./postgres-life.ts";

const [url, name = "", keys = "", duplicates = "", group = ""] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: url, max: 8 });
pool.on("error", () => {});
// Eight connections for 64 callers in each process: on a busy machine they wait for longer than a call may by default.
const store = postgresStore(pool, { group: group === "true", callTimeoutMs: 60_000 });
await store.ping();
console.log("ready");
await once(process.stdin, "data");

const granted: Record<string, number> = {};
const outcomes: Record<string, number> = {};

async function ask(key: string, copy: number): Promise<void> {
  const asked = request(key, `${name}-${key}-${copy}`);
  const result = await store.claim(asked);
  outcomes[result.outcome] = (outcomes[result.outcome] ?? 0) + 1;
  if (result.outcome !== "granted") return;
  granted[key] = (granted[key] ?? 0) + 1;
  await store.complete({ ...asked, fence: result.fence, response: sampleResponse({ body: `${name} ${key}` }) });
}

const asks = Array.from({ length: Number(keys) }, (_, key) =>
  Array.from({ length: Number(duplicates) }, (__, copy) => [`key-${key}`, copy] as const),
).flat();
// The processes begin at opposite ends, so that both are granted some, and meet in the middle.
if (name === "two") asks.reverse();
let next = 0;
await Promise.all(
  Array.from({ length: 64 }, async () => {
    for (let each = asks[next++]; each !== undefined; each = asks[next++]) await ask(...each);
  }),
);
console.log(JSON.stringify({ granted, outcomes }));
await pool.end();
