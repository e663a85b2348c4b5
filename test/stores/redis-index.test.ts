/** The index of labels and resources lies beside its records on Redis, perhaps on another server: that one may be away. */
import { hash } from "node:crypto";
import { Redis } from "ioredis";
import { redisStore } from "ichido/redis";
import { sampleResponse } from "ichido/testing";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { describeWith, uniqueName } from "../support/services.ts";
import { grant, request } from "./postgres-life.ts";

const label = { name: "order", value: "7" };
const resource = { kind: "charge", id: "ch_1" };

describeWith("redis", "the index on Redis", (url) => {
  function open() {
    const client = new Redis(url);
    onTestFinished(() => client.disconnect());
    const prefix = `${uniqueName("index")}:`;
    const nameOf = (term: readonly string[]): string =>
      `${prefix}{i:${hash("sha256", JSON.stringify(term), "base64url")}}`;
    const names = [nameOf(["label", label.name, label.value]), nameOf(["resource", resource.kind, resource.id])];
    const store = redisStore(client, { prefix });
    return {
      client,
      prefix,
      store,
      away: () => Promise.all(names.map((name) => client.set(name, "of another type"))),
      back: () => client.del(...names),
      found: async (query: object) => (await store.list({ ...query, limit: 10 })).records.length,
    };
  }

  test("S10 of a label in use forgets the records that were swept, and finds who runs under such a key since", async () => {
    const { client, prefix, store, found } = open();
    const short = { retentionMs: 600, leaseMs: 600, labels: { order: "7" } };
    const tick = async (times: number): Promise<void> => {
      for (let turn = 0; turn < times; turn += 1) {
        await store.tick({ intervalMs: 100 });
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    };
    await tick(1);
    for (const key of ["first", "second", "third"]) {
      const claim = await grant(store, request(key, "a", short));
      await store.complete({ ...claim, response: sampleResponse() });
    }
    await tick(10);
    await grant(store, request("third", "b", { ...short, retentionMs: 60_000 }));
    await eventually(async () => {
      await store.tick({ intervalMs: 100 });
      await store.sweep({ limit: 100, budgetMs: 1_000 });
      const [index = ""] = await client.keys(`${prefix}{i:*`);
      expect(await client.zcard(index)).toBe(1);
    });
    expect(await found({ label })).toBe(1);
  });

  test("S17 a record whose label could not be noted is found once it is completed", async () => {
    const { store, away, back, found } = open();
    await away();
    const held = await grant(store, request("key", "a", { labels: { order: "7" } }));
    await back();
    expect(await store.complete({ ...held, response: sampleResponse() })).toBe("ok");
    await eventually(async () => expect(await found({ label })).toBe(1));
  });

  test("S17 also where nobody completes it, and the index comes back later", async () => {
    const { store, away, back, found } = open();
    await away();
    await grant(store, request("key", "a", { labels: { order: "7" } }));
    await store.tick({ intervalMs: 1_000 });
    await back();
    await eventually(async () => {
      await store.tick({ intervalMs: 1_000 });
      expect(await found({ label })).toBe(1);
    });
  });

  test("S20 a resource that could not be noted is found later, and its record by it", async () => {
    const { store, away, back, found } = open();
    const held = await grant(store, request("key", "a"));
    await away();
    expect(await store.complete({ ...held, response: sampleResponse(), resources: [resource] })).toBe("ok");
    await back();
    await eventually(async () => {
      await store.tick({ intervalMs: 1_000 });
      expect(await found({ resource })).toBe(1);
    });
  });

  test("S24 what was forgotten meanwhile is not found again", async () => {
    const { store, away, back, found } = open();
    await away();
    const held = await grant(store, request("key", "a", { labels: { order: "7" } }));
    await store.complete({ ...held, response: sampleResponse() });
    await back();
    expect(await store.forget({ ...held, actor: "ann", reason: "asked" })).toBe("ok");
    await store.tick({ intervalMs: 1_000 });
    expect(await found({ label })).toBe(0);
  });
});
