/** Many claimants at once, in one process and in several. */
import { setTimeout as sleep } from "node:timers/promises";
import { mysqlStore } from "ichido/mysql";
import { sampleResponse, spawnChild } from "ichido/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { describeWith, freshDatabase } from "../support/services.ts";
import type { FreshDatabase } from "../support/services.ts";
import { drivers, emptyTables, migrated, openClient, trustClock } from "./mysql-clients.ts";
import type { Client } from "./mysql-clients.ts";
import { granted, request } from "./mysql-life.ts";

describeWith("mariadb", "mysql store with many claimants", (url) => {
  let database: FreshDatabase;
  let client: Client;
  beforeAll(async () => {
    database = await freshDatabase(url);
    client = openClient("mysql2", database.url);
    await migrated(client);
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });
  beforeEach(() => emptyTables(client));

  test(
    "S1 200 keys claimed 8 times by each of two processes, one on each driver, have one winner each",
    { timeout: 120_000 },
    async () => {
      const [keys, claims] = [200, 8];
      const children = await Promise.all(
        drivers.map((driver) =>
          spawnChild(new URL("mysql-process.child.ts", import.meta.url), {
            args: [driver, database.url, driver, String(keys), String(claims)],
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
    const clients = drivers.map((driver) => openClient(driver, database.url, { connections: 8 }));
    const stores = clients.map(({ pool }) => mysqlStore(pool));
    let last = 0;
    for (let round = 1; round <= 500; round += 1) {
      const results = await Promise.all(
        Array.from({ length: 16 }, async (_, index) => {
          const store = stores[index % 2] ?? expect.unreachable();
          const asked = request("key", `${round} ${index}`);
          return { asked, store, result: await store.claim(asked) };
        }),
      );
      const grants = results.flatMap(({ asked, store, result }) =>
        result.outcome === "granted" ? [{ claim: { ...asked, fence: result.fence }, store, result }] : [],
      );
      expect(grants).toHaveLength(1);
      const [grant = expect.unreachable()] = grants;
      expect(grant.result.attempt).toBe(round);
      expect(grant.result.fence).toBeGreaterThan(last);
      last = grant.result.fence;
      expect(await grant.store.release(grant.claim)).toBe("ok");
    }
    await Promise.all(clients.map((each) => each.end()));
  });

  test(
    "S1 crossed keys, renewals, steps and sweeps at once: no deadlock reaches a caller",
    { timeout: 60_000 },
    async () => {
      const store = mysqlStore(client.pool);
      const second = openClient("mariadb", database.url, { connections: 8 });
      const other = mysqlStore(second.pool);
      const keys = Array.from({ length: 12 }, (_, index) => `key-${index}`);
      const work = async (side: typeof store, order: readonly string[], name: string): Promise<number> => {
        let grants = 0;
        for (let round = 0; round < 4; round += 1) {
          const claims = await Promise.all(order.map((key) => side.claim(request(key, `${name} ${round} ${key}`))));
          const held = claims.flatMap((result, index) => {
            const { identity, owner } = request(order[index] ?? "", `${name} ${round} ${order[index]}`);
            return result.outcome === "granted" ? [{ identity, owner, fence: result.fence }] : [];
          });
          grants += held.length;
          await side.renew(held.map((claim) => ({ ...claim, leaseMs: 20_000 })));
          await Promise.all(held.map((claim) => side.startStep({ ...claim, name: "charge", leaseMs: 20_000 })));
          await side.sweep({ limit: 100, budgetMs: 100 });
          await Promise.all(held.map((claim) => side.release(claim)));
        }
        return grants;
      };
      const sides = [store, other].flatMap((side, index) => [
        work(side, keys, `${index} up`),
        work(side, keys.toReversed(), `${index} down`),
        work(side, [...keys.slice(6), ...keys.slice(0, 6)], `${index} across`),
      ]);
      const grants = await Promise.all(sides);
      expect(grants.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(keys.length);
      await second.end();
    },
  );

  test("S10 ticks of many processes at once, some begun before the last one, leave the clock trusted", async () => {
    const store = mysqlStore(client.pool);
    const second = openClient("mariadb", database.url, { connections: 8 });
    const other = mysqlStore(second.pool);
    await trustClock(client);
    const ticks = Array.from({ length: 200 }, (_, index) =>
      (index % 2 === 0 ? store : other).tick({ intervalMs: 60_000 }),
    );
    const trusted = (await Promise.all(ticks)).map((tick) => tick.trusted);
    expect(trusted).toEqual(trusted.map(() => true));
    await second.end();
  });

  test(
    "S12 two sweepers at once beside claims remove all, and count each record once",
    { timeout: 60_000 },
    async () => {
      const store = mysqlStore(client.pool);
      await client.rows(`insert into ichido_records (\`key\`, scope_hash, operation, fingerprint_version, fingerprint_raw,
      fingerprint_canonical, state, owner, fence, life, attempts, lease_us, response_kind, response_status, response_headers,
      response_body, created_us, updated_us, expires_us, sweep_us)
      select concat('old-', seq), unhex(sha2(seq, 256)), 'op', 1, 'a', 'b', 'completed', 'o', seq, seq, 1, 0, 'full', 200,
      '[]', 'x', 1, 1, 2, 2 from seq_1_to_1500`);
      await trustClock(client);
      const sweepAll = async (side: typeof store): Promise<number> => {
        let deleted = 0;
        for (;;) {
          const swept = await side.sweep({ limit: 300, budgetMs: 2_000 });
          expect(swept.guarded).toBe(false);
          deleted += swept.deleted;
          if (swept.busy === true) await sleep(5);
          else if (!swept.more) return deleted;
        }
      };
      const claims = Promise.all(
        Array.from({ length: 50 }, async (_, index) => {
          const claim = await granted(store, request(`new-${index}`, "a"));
          expect(await store.complete({ ...claim, response: sampleResponse() })).toBe("ok");
        }),
      );
      const second = openClient("mariadb", database.url, { connections: 2 });
      const [one, two] = await Promise.all([sweepAll(store), sweepAll(mysqlStore(second.pool)), claims]);
      await second.end();
      expect(one + two).toBe(1_500);
      expect((await store.stats()).records).toBe(50);
    },
  );
});
