/** Pages of the attempt log on Redis: neither a batch that fails again and again, nor another's retention, costs a page. */
import { setTimeout as sleep } from "node:timers/promises";
import { redisStore, type RedisStore } from "ichido/redis";
import { expect, onTestFinished, test } from "vitest";
import { sampleIdentity } from "../../packages/ichido/src/testing/store-suite/samples.ts";
import { describeWith, uniqueName } from "../support/services.ts";
import { openClient } from "./redis-clients.ts";

const dayMs = 86_400_000;

function note(key: string, number = 1, keepMs = dayMs) {
  return { outcome: "in_progress", agoMs: 1, tookMs: 1, number, keepMs, identity: sampleIdentity(key) } as const;
}

async function keysLogged(store: RedisStore): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (let cursor: string | undefined; ;) {
    const from = cursor === undefined ? { fromAgoMs: dayMs } : { cursor };
    const page = await store.follow({ limit: 1_000, ...from });
    for (const { record } of page.entries) found.add(record.key);
    if (page.entries.length === 0) return found;
    cursor = page.cursor;
  }
}

describeWith("redis", "pages of the log on Redis", (url) => {
  async function open() {
    const opened = await openClient("ioredis", url);
    onTestFinished(() => opened.end());
    const prefix = `${uniqueName("log")}:`;
    return { store: redisStore(opened.client, { prefix }), opened, prefix };
  }

  test("S21 copies of a batch that fails half-way do not push out what others logged", async () => {
    const { store, opened, prefix } = await open();
    await store.log({ process: "mine", suspectWithinMs: 0, notes: [note("away")] });
    const [name] = (await opened.send("KEYS", `${prefix}*:others`)) as string[];
    await store.log({ process: "others", suspectWithinMs: 0, notes: [note("payment")] });
    // In a cluster, the node of these records is away.
    await opened.send("DEL", name ?? expect.fail());
    await opened.send("SET", name ?? expect.fail(), "of another type");
    const notes = Array.from({ length: 1_000 }, (_, index) => note("away", index + 2));
    for (let time = 0; time < 101; time += 1)
      await expect(store.log({ process: "mine", suspectWithinMs: 0, notes })).rejects.toThrow();
    expect(await keysLogged(store)).toContain("payment");
  });

  test("S21 a page of a route with a short retention takes no other page along, and goes in its own time", async () => {
    const { store } = await open();
    await store.log({ process: "pings", suspectWithinMs: 0, notes: [note("early", 1, 1_000)] });
    await store.log({ process: "payments", suspectWithinMs: 0, notes: [note("payment")] });
    await sleep(1_200);
    await store.log({ process: "pings", suspectWithinMs: 0, notes: [note("ping", 1, 1_000)] });
    expect([...(await keysLogged(store))]).toEqual(["payment", "ping"]);
  });
});
