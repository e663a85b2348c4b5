/** Servers that a store must refuse, warn about or outlive; options that it must refuse. */
import { Redis } from "ioredis";
import { createSentinel } from "redis";
import { redisStore } from "ichido/redis";
import type { RedisClient, RedisStoreOptions } from "ichido/redis";
import { sampleResponse } from "ichido/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { describeWith, startRedis } from "../support/services.ts";
import type { Instance } from "../support/services.ts";
import { drivers, openClient, pipeliningClients } from "./redis-clients.ts";
import type { OpenClient } from "./redis-clients.ts";
import { ask, request, tally } from "./redis-load.ts";

const unavailable = (message: RegExp) =>
  expect.objectContaining({ code: "store-unavailable", message: expect.stringMatching(message) as string });

describeWith("redis", "redis store and the server it is given", () => {
  const servers: Instance[] = [];
  const clients: OpenClient[] = [];
  const warnings: string[] = [];
  const onWarning = (warning: Error & { code?: string }): void => void warnings.push(warning.code ?? warning.name);

  beforeEach(() => void process.on("warning", onWarning));
  afterEach(async () => {
    process.off("warning", onWarning);
    warnings.length = 0;
    await Promise.all(clients.splice(0).map((client) => client.end()));
    await Promise.all(servers.splice(0).map((server) => server.stop()));
  });

  async function start(config: Readonly<Record<string, string | number>> = {}): Promise<Instance> {
    const server = await startRedis({ config });
    servers.push(server);
    return server;
  }

  async function open(server: Instance, driver: (typeof drivers)[number] = "ioredis"): Promise<OpenClient> {
    const client = await openClient(driver, server.url);
    clients.push(client);
    return client;
  }

  for (const policy of ["volatile-ttl", "volatile-lru", "allkeys-lru", "allkeys-random"]) {
    test(`S14 a server that may evict (${policy}) is refused by name, at first use and by ping`, async () => {
      const server = await start({ "maxmemory-policy": policy });
      for (const driver of drivers) {
        const store = redisStore((await open(server, driver)).client);
        await expect(store.claim(request("key"))).rejects.toEqual(unavailable(new RegExp(policy)));
        await expect(store.ping()).rejects.toEqual(unavailable(/dangerouslyAllowEviction/));
      }
    });
  }

  test("S14 eviction that was allowed by name is warned about, and so are keys that went", async () => {
    const client = await open(await start({ "maxmemory-policy": "allkeys-lru" }));
    const store = redisStore(client.client, { dangerouslyAllowEviction: true });
    await store.ping();
    const response = sampleResponse({ body: new Uint8Array(4_000) });
    await client.send("CONFIG", "SET", "maxmemory", "3mb");
    for (let key = 0; key < 500; key += 1) {
      const asked = request(`key-${key}`);
      const claim = await store.claim(asked);
      if (claim.outcome === "granted") await store.complete({ ...asked, fence: claim.fence, response });
    }
    await store.ping();
    await eventually(() => expect(warnings).toContain("ICHIDO_REDIS_EVICTED"));
    expect(warnings).toContain("ICHIDO_REDIS_EVICTION_ALLOWED");
  });

  test("S18 a policy that is changed while the store runs is seen by ping", async () => {
    const client = await open(await start());
    const store = redisStore(client.client);
    await store.ping();
    await client.send("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    await expect(store.ping()).rejects.toEqual(unavailable(/allkeys-lru/));
  });

  test("S18 a replica is refused, and so is a master that became one under the store", async () => {
    const master = await start();
    const replica = await start({ replicaof: `127.0.0.1 ${master.port}` });
    const store = redisStore((await open(replica)).client);
    await expect(store.claim(request("key"))).rejects.toEqual(unavailable(/slave|replica/));
    const demoted = await open(master);
    const other = redisStore(demoted.client);
    await ask(other, "key", tally());
    await demoted.send("REPLICAOF", "127.0.0.1", String(replica.port));
    await expect(other.claim(request("other"))).rejects.toEqual(unavailable(/READONLY|replica|slave/));
    await expect(other.ping()).rejects.toEqual(unavailable(/replica|slave/));
  });

  test("S18 a server that forgets at restart is warned about by name, one that keeps a log is not", async () => {
    await redisStore((await open(await start())).client).ping();
    await eventually(() => expect(warnings).toEqual(["ICHIDO_REDIS_NOT_PERSISTENT"]));
    await redisStore((await open(await start({ appendonly: "yes" }))).client).ping();
    await redisStore((await open(await start({ save: "60 1" }))).client).ping();
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings).toEqual(["ICHIDO_REDIS_NOT_PERSISTENT"]);
  });

  test("S18 an account without CONFIG and INFO works, with a warning that nothing could be checked", async () => {
    const client = await open(await start());
    await client.send("ACL", "SETUSER", "app", "on", ">secret", "~ichido:*", "&ichido:*", "+@all", "-config", "-info");
    await client.send("AUTH", "app", "secret");
    const store = redisStore(client.client);
    await store.ping();
    await ask(store, "key", tally());
    await eventually(() => expect(warnings).toEqual(["ICHIDO_REDIS_UNCHECKED"]));
  });

  test("S14 at maxmemory new keys are refused whole, while completions, releases and replays go on", async () => {
    const client = await open(await start({ maxmemory: "4mb", "maxmemory-policy": "noeviction" }));
    const store = redisStore(client.client);
    const [first, second] = [request("first"), request("second")];
    const [one, two] = [await store.claim(first), await store.claim(second)];
    await ask(store, "done", tally());
    await fill(client);
    const before = await client.send("DBSIZE");
    await expect(store.claim(request("new"))).rejects.toEqual(unavailable(/OOM.*maxmemory/));
    await expect(store.ping()).rejects.toEqual(unavailable(/OOM/));
    expect(await client.send("DBSIZE"), "nothing half-written").toBe(before);
    expect(await store.find(request("new").identity)).toBeUndefined();
    const fenceOf = (claim: typeof one): number => (claim.outcome === "granted" ? claim.fence : expect.fail());
    const response = sampleResponse({ body: "kept" });
    const resources = [{ kind: "payment", id: "pay_7" }];
    expect(await store.complete({ ...first, fence: fenceOf(one), response, resources })).toBe("ok");
    expect(await store.resources(first.identity), "what it made is told with it").toEqual(resources);
    expect(await store.release({ ...second, fence: fenceOf(two) })).toBe("ok");
    expect((await store.claim(request("first"))).outcome).toBe("completed");
    expect((await store.claim(request("done"))).outcome).toBe("completed");
  });

  test("S11 a key outlives its record's retention by the margin, and has no time to live once a step was started", async () => {
    const client = await open(await start());
    const store = redisStore(client.client, { marginMs: 3_600_000 });
    const asked = request("key", { retentionMs: 60_000 });
    const claim = await store.claim(asked);
    const held = { ...asked, fence: claim.outcome === "granted" ? claim.fence : expect.fail() };
    const [key = ""] = (await client.send("KEYS", "ichido:{*}")) as string[];
    const ttl = async (): Promise<number> => Number(await client.send("PTTL", key));
    expect(await ttl()).toBeGreaterThan(3_600_000);
    expect(await ttl()).toBeLessThanOrEqual(3_660_000);
    await store.renew([{ ...held, leaseMs: 60_000 }]);
    expect(await ttl()).toBeGreaterThan(3_600_000);
    await store.startStep({ ...held, name: "charge", leaseMs: 30_000 });
    expect(await ttl()).toBe(-1);
    await store.complete({ ...held, response: sampleResponse() });
    expect(await ttl()).toBeGreaterThan(3_590_000);

    const doubted = request("doubt");
    const other = await store.claim(doubted);
    await store.suspend({ ...doubted, fence: other.outcome === "granted" ? other.fence : 0, holdReason: "ask" });
    const ttls = await Promise.all(
      ((await client.send("KEYS", "ichido:{*}")) as string[]).map((each) => client.send("PTTL", each)),
    );
    expect(ttls.filter((each) => each === -1)).toHaveLength(1);
  });

  test("S13 a client with a key prefix of its own lists, counts and sweeps what it claims", async () => {
    const server = await start();
    const client = await openClient("ioredis", server.url, { keyPrefix: "app*[1]:" });
    clients.push(client);
    const store = redisStore(client.client);
    await ask(store, "key", tally());
    expect((await store.list({ limit: 10 })).records.map((record) => record.identity.key)).toEqual(["key"]);
    expect((await store.stats()).completed).toBe(1);
  });

  test("S1 a claim counts only when enough replicas have it", async () => {
    const master = await start({ "repl-diskless-sync-delay": 0 });
    const client = await open(master);
    const store = redisStore(client.client, { wait: { replicas: 1, timeoutMs: 300 } });
    await expect(store.claim(request("key"))).rejects.toEqual(unavailable(/fewer than 1 replicas/));
    await eventually(async () => expect((await store.find(request("key").identity))?.state).toBe("failed"));
    const lonely = redisStore(client.client);
    const left = request("left");
    const first = await lonely.claim(left);
    if (first.outcome !== "granted") throw new Error("the first claim is granted");
    await lonely.suspend({ ...left, fence: first.fence });
    await expect(store.claim(request("left"))).rejects.toEqual(unavailable(/fewer than 1 replicas/));
    // A takeover that does not count is given back in doubt: released, nobody would ask what its former owner did.
    await eventually(async () => {
      const record = await store.find(left.identity);
      expect([record?.state, record?.attempts, record?.leaseLeftMs]).toEqual(["unknown", 2, 0]);
    });
    await start({ replicaof: `127.0.0.1 ${master.port}` });
    await eventually(
      async () => expect(String(await client.send("INFO", "replication"))).toMatch(/state=online/),
      20_000,
    );
    const counts = tally();
    await eventually(() => ask(store, "key", counts));
    await Promise.all(Array.from({ length: 20 }, (_, index) => ask(store, `other-${index % 10}`, counts)));
    expect(counts.granted.size).toBe(11);
  });

  test("S18 options and clients that cannot work are refused by name", () => {
    const client = new Redis({ lazyConnect: true });
    const refused = (options: object) =>
      expect(() => redisStore(client, options as RedisStoreOptions)).toThrow(
        expect.objectContaining({ code: "option-invalid" }),
      );
    for (const prefix of ["", "a{b}", "a b", "a*", "x".repeat(65), 1]) refused({ prefix });
    refused({ callTimeoutMs: 0 });
    refused({ marginMs: 1_000 });
    refused({ wait: { replicas: 0, timeoutMs: 100 } });
    refused({ wait: { replicas: 1, timeoutMs: 60_000 } });
    refused({ perfix: "a" });
    const sentinel = createSentinel({ name: "x", sentinelRootNodes: [{ host: "127.0.0.1", port: 1 }] });
    for (const each of [{}, null, sentinel]) {
      expect(() => redisStore(each as unknown as RedisClient)).toThrow(
        expect.objectContaining({ code: "option-invalid" }),
      );
    }
    for (const pipelining of pipeliningClients()) {
      expect(() => redisStore(pipelining)).toThrow(/^option enableAutoPipelining/);
      pipelining.disconnect();
    }
    client.disconnect();
  });
});

/** Until the server refuses writes. */
async function fill(client: OpenClient): Promise<void> {
  for (let key = 0; key < 10_000; key += 1) {
    try {
      await client.send("SET", `filler-${key}`, "x".repeat(10_000));
    } catch {
      return;
    }
  }
}
