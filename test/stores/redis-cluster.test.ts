/** Six nodes on loopback: every guarantee again, and slots that move under load. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Redis } from "ioredis";
import { redisStore } from "ichido/redis";
import { storeSuite } from "ichido/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { requireProgram } from "../../scripts/services/binaries.ts";
import { describeWith, startRedisCluster } from "../support/services.ts";
import type { RedisCluster } from "../support/services.ts";
import { drivers, openCluster } from "./redis-clients.ts";
import type { Driver, OpenClient } from "./redis-clients.ts";
import { ask, doubles, tally } from "./redis-load.ts";

const run = promisify(execFile);

describeWith("redis", "redis store on a cluster", () => {
  let cluster: RedisCluster;
  const clients = new Map<Driver, OpenClient>();
  let opened = 0;
  const nextPrefix = (): string => `cluster:${(opened += 1)}:`;
  const clientOf = (driver: Driver): OpenClient => clients.get(driver) ?? expect.fail();

  beforeAll(async () => {
    cluster = await startRedisCluster();
    for (const driver of drivers) clients.set(driver, await openCluster(driver, cluster.urls));
  }, 120_000);
  afterAll(async () => {
    await Promise.all([...clients.values()].map((client) => client.end()));
    await cluster?.stop();
  });

  for (const driver of drivers) {
    storeSuite(
      { describe, it },
      {
        name: `Redis Cluster through ${driver}`,
        watches: true,
        histories: 2,
        async open() {
          const prefix = nextPrefix();
          const other = driver === "ioredis" ? "node-redis" : "ioredis";
          const store = redisStore(clientOf(driver).client, { prefix });
          return { store, second: redisStore(clientOf(other).client, { prefix }), close: () => store.close() };
        },
      },
    );
  }

  it("S1 records lie on every master, and every master is looked at", async () => {
    const prefix = nextPrefix();
    const store = redisStore(clientOf("ioredis").client, { prefix });
    const counts = tally();
    await Promise.all(Array.from({ length: 60 }, (_, index) => ask(store, `key-${index}`, counts)));
    const holding = await Promise.all(cluster.urls.map((url) => keysOf(url, prefix)));
    expect(holding.filter((keys) => keys > 0).length).toBeGreaterThanOrEqual(3);
    expect((await store.stats()).completed).toBe(60);
  });

  for (const driver of drivers) {
    it(`S1 slots that move to another master under load give no error and no second grant (${driver})`, async () => {
      const store = redisStore(clientOf(driver).client, { prefix: nextPrefix() });
      const counts = tally();
      let moving = true;
      let keys = 0;
      const moved = moveSlots(cluster, 600).finally(() => (moving = false));
      const workers = Array.from({ length: 8 }, async () => {
        while (moving) {
          keys += 1;
          const key = `key-${keys}`;
          await Promise.all([ask(store, key, counts), ask(store, key, counts), ask(store, key, counts)]);
        }
      });
      await Promise.all([moved, ...workers]);
      expect(counts.granted.size).toBe(keys);
      expect(keys).toBeGreaterThan(50);
      expect(doubles(counts)).toEqual([]);
      for (let key = 1; key <= keys; key += 1) await ask(store, `key-${key}`, counts);
      expect(doubles(counts)).toEqual([]);
    }, 120_000);
  }

  it("S1 wait is refused: WAIT cannot be sent to the node that took the write", () => {
    const make = () => redisStore(clientOf("ioredis").client, { wait: { replicas: 1, timeoutMs: 100 } });
    expect(make).toThrow(expect.objectContaining({ code: "option-invalid" }));
  });
});

async function keysOf(url: string, prefix: string): Promise<number> {
  const node = new Redis(url);
  try {
    return (await node.role())[0] === "master" ? (await node.keys(`${prefix}*`)).length : 0;
  } finally {
    node.disconnect();
  }
}

/** From one master to another, keys and all. */
async function moveSlots({ url, nodes }: RedisCluster, slots: number): Promise<void> {
  const node = new Redis(url);
  const lines = String(await node.call("cluster", "nodes")).split("\n");
  node.disconnect();
  const masters = lines.filter((line) => line.includes("master")).map((line) => line.split(" ")[0] ?? "");
  const [from = "", to = ""] = masters;
  const address = `127.0.0.1:${nodes[0]?.port}`;
  const args = ["--cluster-from", from, "--cluster-to", to, "--cluster-slots", String(slots), "--cluster-yes"];
  await run(requireProgram("redis", "redis-cli"), ["--cluster", "reshard", address, ...args], {
    timeout: 60_000,
    maxBuffer: 64 * 1_048_576,
  });
}
