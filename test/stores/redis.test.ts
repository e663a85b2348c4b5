import { Redis } from "ioredis";
import { afterAll, describe, it } from "vitest";
import { redisStore } from "ichido/redis";
import { storeSuite } from "ichido/testing";
import { describeWith, uniqueName } from "../support/services.ts";
import { drivers, openClient, removeKeys, withMovedClock } from "./redis-clients.ts";
import type { OpenClient } from "./redis-clients.ts";

describeWith("redis", "redis store", (url) => {
  const family = uniqueName("redis");
  const clients: OpenClient[] = [];
  let opened = 0;
  /** A prefix of its own is an empty store. */
  const nextPrefix = (): string => `${family}:${(opened += 1)}:`;

  async function open(driver: (typeof drivers)[number]): Promise<OpenClient> {
    const client = await openClient(driver, url);
    clients.push(client);
    return client;
  }

  afterAll(async () => {
    const [first] = clients;
    if (first !== undefined) await removeKeys(first, family);
    await Promise.all(clients.map((client) => client.end()));
  });

  for (const driver of drivers) {
    let first: OpenClient | undefined;
    let second: OpenClient | undefined;
    storeSuite(
      { describe, it },
      {
        name: `Redis through ${driver}`,
        watches: true,
        histories: 2,
        async open() {
          first ??= await open(driver);
          second ??= await open(driver === "ioredis" ? "node-redis" : "ioredis");
          const prefix = nextPrefix();
          const store = redisStore(first.client, { prefix });
          return { store, second: redisStore(second.client, { prefix }), close: () => store.close() };
        },
      },
    );
  }

  let moved: Redis | undefined;
  storeSuite(
    { describe, it },
    {
      name: "Redis with a clock that is moved",
      watches: true,
      movesClock: true,
      async open() {
        moved ??= new Redis(url);
        const prefix = nextPrefix();
        const clock = { nowUs: 1_700_000_000_000_000 };
        const client = withMovedClock(moved, clock);
        const store = redisStore(client, { prefix });
        return {
          store,
          second: redisStore(client, { prefix }),
          clock: { advanceMs: (ms) => void (clock.nowUs += ms * 1_000) },
          close: () => store.close(),
        };
      },
    },
  );
  afterAll(() => moved?.disconnect());
});
