/** A Redis server that dies, hangs, forgets its scripts or forgets everything. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { ClaimResult } from "ichido";
import { redisStore } from "ichido/redis";
import type { RedisStore } from "ichido/redis";
import { createFaultProxy, sampleResponse } from "ichido/testing";
import { createClient } from "redis";
import { afterEach, expect, test } from "vitest";
import { Copy, placeOf } from "../../simulation/mutants/mutant.ts";
import { eventually } from "../support/eventually.ts";
import { describeWith, startRedis } from "../support/services.ts";
import type { Instance } from "../support/services.ts";
import { drivers, openClient } from "../stores/redis-clients.ts";
import type { Driver, OpenClient } from "../stores/redis-clients.ts";
import { ask, doubles, request, tally } from "../stores/redis-load.ts";

const always = { appendonly: "yes", appendfsync: "always" };

describeWith("redis", "redis store and a server that fails", () => {
  const endings: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const end of endings.splice(0).toReversed()) await end();
  });

  async function start(config: Readonly<Record<string, string | number>> = {}): Promise<Instance> {
    const server = await startRedis({ config });
    endings.push(() => server.stop());
    return server;
  }

  async function open(driver: Driver, url: string, options?: Parameters<typeof openClient>[2]): Promise<OpenClient> {
    const client = await openClient(driver, url, options);
    endings.push(() => client.end());
    return client;
  }

  for (const driver of drivers) {
    test(`S7 a server killed under load, with a log synced at every write, keeps all that it acknowledged (${driver})`, async () => {
      const server = await start(always);
      const store = redisStore((await open(driver, server.url)).client, { callTimeoutMs: 3_000 });
      const acknowledged = new Map<string, number>();
      let failed = 0;
      let down = false;
      let keys = 0;
      const workers = Array.from({ length: 8 }, async () => {
        while (!down) {
          const key = `key-${(keys += 1)}`;
          try {
            acknowledged.set(key, await claimAndComplete(store, key));
          } catch {
            failed += 1;
          }
        }
      });
      await eventually(() => expect(acknowledged.size).toBeGreaterThan(200), 20_000);
      await server.kill("SIGKILL");
      await eventually(() => expect(failed).toBeGreaterThan(0), 20_000);
      down = true;
      await Promise.all(workers);
      await server.restart();
      const restartedMs = performance.now();
      await eventually(() => claimAndComplete(store, "first after the restart"), 10_000);
      expect(performance.now() - restartedMs).toBeLessThan(5_000);
      for (const [key, fence] of acknowledged) {
        const again = await store.claim(request(key));
        expect(again.outcome).toBe("completed");
        if (again.outcome === "completed") expect(again.fence).toBe(fence);
      }
    }, 120_000);

    test(`S1 scripts forgotten by the server again and again under load are sent anew (${driver})`, async () => {
      const client = await open(driver, (await start()).url);
      const store = redisStore(client.client);
      const counts = tally();
      for (let round = 0; round < 30; round += 1) {
        const asks = Array.from({ length: 10 }, (_, index) => ask(store, `key-${round}-${index % 5}`, counts));
        await client.send("SCRIPT", "FLUSH");
        await Promise.all(asks);
      }
      expect(counts.granted.size).toBe(150);
      expect(doubles(counts)).toEqual([]);
    });

    test(`S1 a server busy with someone's endless script is waited for, within bounds (${driver})`, async () => {
      const server = await start({ "busy-reply-threshold": 50 });
      const store = redisStore((await open(driver, server.url)).client, { callTimeoutMs: 2_000 });
      await ask(store, "key", tally());
      const [other, killer] = [await open("ioredis", server.url), await open("ioredis", server.url)];
      await killer.send("PING");
      const endless = other.send("EVAL", "while true do end", "0").catch(() => undefined);
      await sleep(200);
      const startedMs = performance.now();
      await expect(store.claim(request("other"))).rejects.toMatchObject({ code: "store-unavailable" });
      expect(performance.now() - startedMs).toBeLessThan(3_000);
      const claim = store.claim(request("other"));
      await sleep(100);
      await killer.send("SCRIPT", "KILL");
      expect((await claim).outcome).toBe("granted");
      await endless;
    });
  }

  test("S18 a connection that is dead without saying so ends a call by its deadline, and a client that watches its socket comes back", async () => {
    const server = await start();
    const proxy = await createFaultProxy({ target: server.url });
    endings.push(() => proxy.close());
    const patient = redisStore((await open("ioredis", proxy.url)).client, { callTimeoutMs: 700 });
    const watchful = redisStore((await open("ioredis", proxy.url, { socketTimeout: 400 })).client);
    const node = createClient({
      url: proxy.url,
      pingInterval: 100,
      socket: { socketTimeout: 400, reconnectStrategy: (retries) => 20 * retries },
    });
    node.on("error", () => undefined);
    await node.connect();
    endings.push(async () => node.destroy());
    const other = redisStore(node);
    for (const store of [patient, watchful, other]) await ask(store, "warm", tally());
    for (const connection of proxy.connections)
      connection.faults({ toClient: { blackhole: true }, toServer: { blackhole: true } });
    const startedMs = performance.now();
    await expect(patient.claim(request("key"))).rejects.toMatchObject({ code: "store-unavailable" });
    expect(performance.now() - startedMs).toBeLessThan(2_500);
    const counts = tally();
    for (const [index, store] of [watchful, other].entries()) await ask(store, `after-${index}`, counts);
    expect(counts.granted.size).toBe(2);
  }, 60_000);

  test("S2 a grant whose reply comes after the deadline is given back", async () => {
    const server = await start();
    const proxy = await createFaultProxy({ target: server.url });
    endings.push(() => proxy.close());
    const store = redisStore((await open("ioredis", proxy.url)).client, { callTimeoutMs: 1_500 });
    const direct = redisStore((await open("ioredis", server.url)).client);
    await ask(store, "warm", tally());
    proxy.faults({ toClient: { stall: true } });
    await expect(store.claim(request("key"))).rejects.toMatchObject({ code: "store-unavailable" });
    expect((await direct.claim(request("key"))).outcome).toBe("processing");
    proxy.faults({});
    await eventually(async () => expect((await direct.find(request("key").identity))?.state).toBe("failed"));
  });

  test("S2 a refusal to a claim that was sent twice says that the other copy may be granted unheard", async () => {
    const server = await start();
    const proxy = await createFaultProxy({ target: server.url });
    endings.push(() => proxy.close());
    // ioredis sends again by itself, and does not tell.
    const store = redisStore((await open("node-redis", proxy.url)).client);
    const direct = redisStore((await open("ioredis", server.url)).client);
    await ask(store, "warm", tally());
    expect((await direct.claim(request("key"))).outcome).toBe("granted");
    expect(await store.claim(request("key"))).not.toHaveProperty("unheard");
    const cut = proxy.cut({ direction: "to-server", pattern: "key", place: "after" });
    expect(await store.claim(request("key"))).toMatchObject({ outcome: "processing", unheard: true });
    expect(cut.count).toBe(1);
  });

  /** What the next claim is told, after a takeover whose reply came after the deadline of its call. */
  async function claimAfterLateTakeover(make: typeof redisStore): Promise<ClaimResult> {
    const server = await start();
    const proxy = await createFaultProxy({ target: server.url });
    endings.push(() => proxy.close());
    const store = make((await open("ioredis", proxy.url)).client, { callTimeoutMs: 1_500 });
    const direct = redisStore((await open("ioredis", server.url)).client);
    await ask(store, "warm", tally());
    const left = request("key");
    const { identity } = left;
    const first = await direct.claim(left);
    if (first.outcome !== "granted") throw new Error("the first claim is granted");
    expect(await direct.suspend({ ...left, fence: first.fence })).toBe("ok");
    proxy.faults({ toClient: { stall: true } });
    await expect(store.claim(request("key"))).rejects.toMatchObject({ code: "store-unavailable" });
    expect((await direct.find(identity))?.leaseLeftMs).toBeGreaterThan(0);
    proxy.faults({});
    await eventually(async () => expect((await direct.find(identity))?.leaseLeftMs ?? 0).toBe(0));
    return direct.claim(request("key"));
  }

  test("S2 a takeover whose reply comes after the deadline is given back in doubt, never as released", async () => {
    expect(await claimAfterLateTakeover(redisStore)).toMatchObject({ outcome: "granted", origin: "lapsed" });
  });

  test("I19 that is seen where the store releases whatever it gives back", async () => {
    const copy = new Copy();
    try {
      copy.edit([
        { file: "stores/redis/claim.ts", find: "const given = isInDoubt(grant)", replace: "const given = false" },
      ]);
      const index = pathToFileURL(join(copy.path, placeOf("stores/redis/index.ts"))).href;
      const undone = (await import(index)) as { readonly redisStore: typeof redisStore };
      const next = await claimAfterLateTakeover(undone.redisStore);
      expect(next).toMatchObject({ outcome: "granted", origin: "failed" });
    } finally {
      copy.remove();
    }
  });

  test("S2 a claim whose reply is lost with the connection is sent again and recognises itself", async () => {
    const server = await start();
    const proxy = await createFaultProxy({ target: server.url });
    endings.push(() => proxy.close());
    for (const driver of drivers) {
      const store = redisStore((await open(driver, proxy.url)).client);
      await ask(store, `warm-${driver}`, tally());
      proxy.cut({ direction: "to-client", pattern: "granted", place: "before" });
      const claim = await store.claim(request(`key-${driver}`));
      expect(claim).toMatchObject({ outcome: "granted", origin: "new", resent: true, attempt: 1 });
    }
    expect(proxy.counts.cut).toBe(2);
  });

  test("S6 a server that forgot everything runs keys again, as is said of it, with fences that go on growing", async () => {
    const client = await open("ioredis", (await start()).url);
    const store = redisStore(client.client);
    const fences = new Map<string, number>();
    for (let key = 0; key < 50; key += 1) fences.set(`key-${key}`, await claimAndComplete(store, `key-${key}`));
    await client.send("FLUSHALL");
    let twice = 0;
    for (const [key, fence] of fences) {
      expect(await claimAndComplete(store, key)).toBeGreaterThan(fence);
      twice += 1;
    }
    expect(twice, "every key ran twice: at most once only while Redis remembers").toBe(50);
    expect(store.capabilities.promise).toMatch(/while Redis remembers/);
  });
});

async function claimAndComplete(store: RedisStore, key: string): Promise<number> {
  const asked = request(key);
  const claim = await store.claim(asked);
  if (claim.outcome !== "granted") throw new Error(claim.outcome);
  const done = await store.complete({ ...asked, fence: claim.fence, response: sampleResponse({ body: key }) });
  if (done !== "ok") throw new Error(done);
  return claim.fence;
}
