/** Many claimants at once, in one process and in several; and what they cost. */
import { Redis } from "ioredis";
import { redisStore } from "ichido/redis";
import { sampleResponse, spawnChild } from "ichido/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { describeWith, startRedis, uniqueName } from "../support/services.ts";
import { drivers, openClient, removeKeys } from "./redis-clients.ts";
import type { OpenClient } from "./redis-clients.ts";
import { ask, request, tally } from "./redis-load.ts";

describeWith("redis", "redis store with many claimants", (url) => {
  const family = uniqueName("redis");
  let client: OpenClient;
  beforeAll(async () => {
    client = await openClient("ioredis", url);
  });
  afterAll(async () => {
    await removeKeys(client, family);
    await client.end();
  });

  test(
    "S1 200 keys claimed 8 times by each of two processes, one on each driver, have one winner each",
    { timeout: 120_000 },
    async () => {
      const [keys, claims, prefix] = [200, 8, `${family}:processes:`];
      const children = await Promise.all(
        drivers.map((driver) =>
          spawnChild(new URL("redis-process.child.ts", import.meta.url), {
            args: [driver, url, prefix, String(keys), String(claims)],
            execArgv: ["--conditions=ichido-source", "--disable-warning=ExperimentalWarning"],
          }),
        ),
      );
      await Promise.all(children.map((child) => child.waitFor(/^ready$/, 30_000)));
      for (const child of children) child.write("go");
      const lines = await Promise.all(children.map((child) => child.waitFor(/^answers (.*)$/, 90_000)));
      const perProcess = lines.map((line) => JSON.parse(line[1] ?? "") as { key: string; outcome: string }[]);
      const winners = new Map<string, number>();
      for (const { key, outcome } of perProcess.flat()) {
        expect(["granted", "processing"]).toContain(outcome);
        if (outcome === "granted") winners.set(key, (winners.get(key) ?? 0) + 1);
      }
      expect(perProcess.flat()).toHaveLength(2 * keys * claims);
      expect(winners.size).toBe(keys);
      expect([...winners.values()].every((count) => count === 1)).toBe(true);
      const wins = perProcess.map((own) => own.filter(({ outcome }) => outcome === "granted").length);
      expect(Math.min(...wins), "both processes won some").toBeGreaterThan(0);
    },
  );

  test("S4 16 connections, 500 rounds on one key: one grant a round, fences grow", { timeout: 120_000 }, async () => {
    const prefix = `${family}:rounds:`;
    const clients = await Promise.all(
      Array.from({ length: 16 }, (_, at) => openClient(drivers[at % 2] ?? "ioredis", url)),
    );
    const stores = clients.map((each) => redisStore(each.client, { prefix }));
    let last = 0;
    for (let round = 1; round <= 500; round += 1) {
      const asked = stores.map((store) => ({ store, claim: request("key") }));
      const results = await Promise.all(asked.map(({ store, claim }) => store.claim(claim)));
      const granted = results.flatMap((result, at) => (result.outcome === "granted" ? [{ result, at }] : []));
      expect(granted).toHaveLength(1);
      const [{ result, at } = expect.fail()] = granted;
      expect(result.fence).toBeGreaterThan(last);
      expect(result.attempt).toBe(round);
      last = result.fence;
      const { store, claim } = asked[at] ?? expect.fail();
      expect(await store.release({ ...claim, fence: result.fence })).toBe("ok");
    }
    await Promise.all(clients.map((each) => each.end()));
  });

  for (const driver of drivers) {
    test(`S1 a claim, a replay and a completion are one round trip each (${driver})`, async () => {
      const prefix = `${family}:trips-${driver}:`;
      // Alone on a server: what others do would be in the way of what is monitored.
      const server = await startRedis();
      const own = await openClient(driver, server.url);
      const store = redisStore(own.client, { prefix });
      await ask(store, "warm", tally());
      await ask(store, "warm", tally());
      const watching = new Redis(server.url);
      const monitor = await watching.monitor();
      const seen: string[] = [];
      monitor.on("monitor", (_time: string, args: string[], source: string) => {
        if (source !== "lua" && args.some((arg) => arg.startsWith(prefix))) seen.push(args[0] ?? "");
      });
      const trips = async (work: () => Promise<unknown>): Promise<readonly string[]> => {
        seen.length = 0;
        await work();
        await own.send("ECHO", `${prefix}end`);
        await eventually(() => expect(seen.at(-1)?.toLowerCase()).toBe("echo"));
        return seen.slice(0, -1).map((command) => command.toLowerCase());
      };
      const asked = request("key");
      let fence = 0;
      const claimed = await trips(async () => {
        const claim = await store.claim(asked);
        fence = claim.outcome === "granted" ? claim.fence : expect.fail();
      });
      const completed = await trips(() => store.complete({ ...asked, fence, response: sampleResponse() }));
      const replayed = await trips(() => store.claim(request("key")));
      expect([claimed, completed, replayed]).toEqual([["evalsha"], ["evalsha"], ["evalsha"]]);
      monitor.disconnect();
      watching.disconnect();
      await own.end();
      await server.stop();
    });
  }

  for (const driver of drivers) {
    test(`S18 a hundred waiters of ten records share one connection and are woken by publications (${driver})`, async () => {
      const server = await startRedis();
      const [one, other] = [await openClient(driver, server.url), await openClient("node-redis", server.url)];
      const [waiting, working] = [redisStore(one.client), redisStore(other.client)];
      const keys = Array.from({ length: 10 }, (_, index) => `key-${index}`);
      const held = await Promise.all(
        keys.map(async (key) => {
          const asked = request(key);
          const claim = await working.claim(asked);
          return { ...asked, fence: claim.outcome === "granted" ? claim.fence : expect.fail() };
        }),
      );
      let woken = 0;
      const waits = held.flatMap(({ identity }) =>
        Array.from({ length: 10 }, () => waiting.watch(identity, 60_000).then(() => (woken += 1))),
      );
      await eventually(async () => expect(await marked(other)).toBe(10));
      await eventually(async () => expect(await channels(other)).toBe(10));
      expect(await subscribers(other)).toBe(1);
      expect(woken).toBe(0);
      for (const each of held) expect(await working.complete({ ...each, response: sampleResponse() })).toBe("ok");
      await Promise.all(waits);
      await eventually(async () => expect(await channels(other)).toBe(0));
      await waiting.close();
      await one.end();
      await eventually(async () => expect(await clients(other)).toBe(1));
      await other.end();
      await server.stop();
    });
  }
});

async function clients(client: OpenClient): Promise<number> {
  return String(await client.send("CLIENT", "LIST"))
    .trim()
    .split("\n").length;
}

async function subscribers(client: OpenClient): Promise<number> {
  return String(await client.send("CLIENT", "LIST"))
    .split("\n")
    .filter((line) => / sub=[1-9]/.test(line)).length;
}

async function channels(client: OpenClient): Promise<number> {
  return ((await client.send("PUBSUB", "CHANNELS")) as string[]).length;
}

async function marked(client: OpenClient): Promise<number> {
  const keys = (await client.send("KEYS", "ichido:*")) as string[];
  const marks = await Promise.all(keys.map((key) => client.send("HEXISTS", key, "w")));
  return marks.filter((mark) => mark === 1).length;
}
