/** The store with its marker in each kind of business database: every guarantee again. */
import { redisStore } from "ichido/redis";
import { storeSuite } from "ichido/testing";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { describeWith, uniqueName } from "../support/services.ts";
import { openClient, removeKeys } from "./redis-clients.ts";
import type { OpenClient } from "./redis-clients.ts";
import { kinds, openBusiness } from "./redis-markers.ts";
import type { Business } from "./redis-markers.ts";

describeWith(["redis", "postgres", "mariadb"], "redis store with a marker", (url) => {
  const family = uniqueName("marked");
  let opened = 0;
  let first: OpenClient;
  let second: OpenClient;
  const businesses = new Map<string, Business>();
  beforeAll(async () => {
    first = await openClient("ioredis", url);
    second = await openClient("node-redis", url);
    for (const kind of kinds) businesses.set(kind, await openBusiness(kind));
  });
  afterAll(async () => {
    await removeKeys(first, family);
    await Promise.all([first.end(), second.end()]);
    await Promise.all([...businesses.values()].map((business) => business.close()));
  });

  for (const kind of kinds) {
    storeSuite(
      { describe, it },
      {
        name: `Redis with a marker in ${kind}`,
        watches: true,
        async open() {
          const { marker } = businesses.get(kind) ?? expect.fail();
          const prefix = `${family}:${(opened += 1)}:`;
          const store = redisStore(first.client, { prefix, marker });
          return { store, second: redisStore(second.client, { prefix, marker }), close: () => store.close() };
        },
      },
    );

    test(`S18 ${kind}: the table is made once, and a table that is missing makes ping fail`, async () => {
      const { marker, database } = businesses.get(kind) ?? expect.fail();
      await marker.migrate();
      const { sqlMarker } = await import("ichido/redis");
      const absent = sqlMarker(database, { tablePrefix: "absent_" });
      await expect(redisStore(first.client, { marker: absent }).ping()).rejects.toMatchObject({
        code: "store-unavailable",
      });
    });
  }
});
