/** The MySQL store when the server dies, stalls or is the wrong one, and when the network loses what was said. */
import { setTimeout as sleep } from "node:timers/promises";
import { mysqlStore } from "ichido/mysql";
import type { MysqlStore } from "ichido/mysql";
import { createFaultProxy, sampleResponse } from "ichido/testing";
import type { FaultProxy } from "ichido/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { drivers, emptyTables, migrated, openClient } from "../stores/mysql-clients.ts";
import type { Client, ClientOptions, Driver } from "../stores/mysql-clients.ts";
import { granted, request } from "../stores/mysql-life.ts";
import { describeWith, freshDatabase, startMariadb } from "../support/services.ts";
import type { FreshDatabase, Instance } from "../support/services.ts";

const clients: Client[] = [];
function open(driver: Driver, url: string, options: ClientOptions = {}): Client {
  const client = openClient(driver, url, options);
  clients.push(client);
  return client;
}
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.end().catch(() => undefined)));
});

describeWith("mariadb", "a private MariaDB", () => {
  let server: Instance;
  beforeAll(async () => {
    server = await startMariadb({ settings: { "innodb-flush-log-at-trx-commit": 1 } });
    await migrated(open("mysql2", server.url));
  });
  afterAll(() => server.stop());

  test(
    "S1 the server is killed and started again under load: no key is granted twice, nothing acknowledged is lost",
    { timeout: 90_000 },
    async () => {
      const stores = drivers.map((driver) =>
        mysqlStore(open(driver, server.url, { connections: 6 }).pool, { callTimeoutMs: 2_000 }),
      );
      const grants = new Map<string, Set<string>>();
      const completed = new Set<string>();
      const tally = { failures: 0, answers: 0, own: 0 };
      let running = true;

      /** Asks with one owner value until it is answered, as a caller does that does not know what became of its claim. */
      async function claimOnce(store: MysqlStore, key: string, owner: string): Promise<void> {
        const asked = request(key, owner, { leaseMs: 60_000, takeover: "none" });
        for (;;) {
          try {
            const result = await store.claim(asked);
            tally.answers += 1;
            if (result.outcome !== "granted") return;
            if (result.resent === true) tally.own += 1;
            grants.set(key, (grants.get(key) ?? new Set()).add(owner));
            const done = await store.complete({
              ...asked,
              fence: result.fence,
              response: sampleResponse({ body: owner }),
            });
            expect(done).toBe("ok");
            completed.add(`${key} ${owner}`);
            return;
          } catch (error) {
            expect(error).toMatchObject({ code: "store-unavailable" });
            tally.failures += 1;
            await sleep(20);
          }
        }
      }
      let keys = 0;
      const load = Promise.all(
        Array.from({ length: 8 }, async (_, worker) => {
          while (running) {
            const key = `kill-${Math.floor((keys += 1) / 3)}`;
            const store = stores[worker % 2] ?? expect.unreachable();
            await claimOnce(store, key, `${worker} ${keys}`);
          }
        }),
      );
      for (let round = 0; round < 3; round += 1) {
        await sleep(700);
        await server.kill("SIGKILL");
        await sleep(200);
        await server.restart();
        const acceptsMs = performance.now();
        const before = tally.answers;
        while (tally.answers === before && performance.now() - acceptsMs < 5_000) await sleep(10);
        expect(tally.answers, "a claim is answered within 5 s after the server accepts connections").toBeGreaterThan(
          before,
        );
      }
      await sleep(300);
      running = false;
      await load;

      expect(tally.failures, "the kills were felt").toBeGreaterThan(0);
      expect(grants.size).toBeGreaterThan(20);
      for (const owners of grants.values()) expect(owners.size).toBe(1);
      const store = stores[0] ?? expect.unreachable();
      for (const entry of completed) {
        const [key = "", ...owner] = entry.split(" ");
        const record = await store.find(request(key, "x").identity);
        expect(Buffer.from(record?.response?.body ?? []).toString()).toBe(owner.join(" "));
      }
    },
  );

  test(
    "S18 a server that stands still is bounded by the deadline, and its late grants are nobody's",
    { timeout: 60_000 },
    async () => {
      for (const driver of drivers) {
        const store = mysqlStore(open(driver, server.url, { connections: 2 }).pool, { callTimeoutMs: 400 });
        await store.ping();
        server.pause();
        const startedMs = performance.now();
        try {
          await expect(store.claim(request(`still-${driver}`, "a"))).rejects.toMatchObject({
            code: "store-unavailable",
          });
          await expect(store.ping()).rejects.toMatchObject({ code: "store-unavailable" });
        } finally {
          server.resume();
        }
        expect(performance.now() - startedMs).toBeLessThan(10_000);
        const again = await granted(store, request(`still-${driver}`, "a"));
        expect(again.attempt).toBe(1);
      }
    },
  );

  test("S18 a read-only server is refused at ping and at first use, even for an account that may write to it", async () => {
    const admin = open("mysql2", server.url);
    await admin.rows("set global read_only = 1");
    try {
      for (const driver of drivers) {
        const store = mysqlStore(open(driver, server.url).pool);
        const refused = { code: "store-unavailable", message: expect.stringContaining("read-only") };
        await expect(store.ping()).rejects.toMatchObject(refused);
        await expect(store.claim(request("read-only", "a"))).rejects.toMatchObject(refused);
        await expect(store.release({ ...request("read-only", "a"), fence: 1 })).rejects.toMatchObject(refused);
      }
      expect(await admin.rows("select 1 from ichido_records where `key` = 'read-only'")).toEqual([]);
    } finally {
      await admin.rows("set global read_only = 0");
    }
  });

  test("S18 a server that becomes read-only later refuses an ordinary account, and claims go on when it is a primary again", async () => {
    const admin = open("mysql2", server.url);
    await admin.rows("create user if not exists app@'127.0.0.1'");
    await admin.rows("grant select, insert, update, delete on mysql.ichido_records to app@'127.0.0.1'");
    for (const table of [
      "labels",
      "steps",
      "audit",
      "clock",
      "log_pages",
      "attempts",
      "processes",
      "twins",
      "resources",
      "log_sweep",
      "engines",
    ]) {
      await admin.rows(`grant select, insert, update, delete on mysql.ichido_${table} to app@'127.0.0.1'`);
    }
    const store = mysqlStore(open("mysql2", server.url.replace("root@", "app@")).pool);
    const claim = await granted(store, request("demoted", "a"));
    await admin.rows("set global read_only = 1");
    try {
      await expect(store.complete({ ...claim, response: sampleResponse() })).rejects.toMatchObject({
        code: "store-unavailable",
        message: expect.stringContaining("read-only"),
      });
    } finally {
      await admin.rows("set global read_only = 0");
    }
    expect(await store.complete({ ...claim, response: sampleResponse() })).toBe("ok");
  });
});

describeWith("mariadb", "a bad network to MariaDB", (url) => {
  let database: FreshDatabase;
  let direct: Client;
  let proxy: FaultProxy;
  beforeAll(async () => {
    database = await freshDatabase(url);
    direct = openClient("mysql2", database.url);
    await migrated(direct);
    proxy = await createFaultProxy({ target: database.url });
  });
  afterAll(async () => {
    await proxy.close();
    await direct.end();
    await database.drop();
  });
  beforeEach(async () => {
    proxy.heal();
    await emptyTables(direct);
  });

  for (const driver of drivers) {
    describe(`through ${driver}`, () => {
      const store = (options: ClientOptions = {}, callTimeoutMs = 5_000): MysqlStore =>
        mysqlStore(open(driver, proxy.url, { connections: 4, ...options }).pool, { callTimeoutMs });

      test("S2 the reply to a claim is lost: the same owner decides, and is granted what it already had", async () => {
        const side = store();
        await side.ping();
        const cut = proxy.cut({ direction: "to-server", pattern: "insert into ichido_records (", place: "after" });
        const claim = await granted(side, request("key", "a"));
        expect(cut.count).toBe(1);
        expect([claim.origin, claim.resent, claim.attempt]).toEqual(["new", true, 1]);
        expect((await side.claim(request("key", "b"))).outcome).toBe("processing");
        expect(await side.complete({ ...claim, response: sampleResponse() })).toBe("ok");
      });

      test("S1 a claim that never arrived is new when it is sent again", async () => {
        const side = store();
        await side.ping();
        const cut = proxy.cut({ direction: "to-server", pattern: "insert into ichido_records (", place: "before" });
        expect((await granted(side, request("key", "a"))).origin).toBe("new");
        expect(cut.count).toBe(1);
      });

      test("S4 the reply to a takeover is lost: the same owner has taken it, once", async () => {
        const side = store();
        await side.release(await granted(side, request("key", "a")));
        const cut = proxy.cut({ direction: "to-server", pattern: "attempts = attempts + 1", place: "after" });
        expect((await granted(side, request("key", "b"))).attempt).toBe(2);
        expect(cut.count).toBe(1);
      });

      test("S5 replies to complete, release, suspend, steps and settlements are lost: each took effect once and says so", async () => {
        const side = store();
        const lose = (pattern: string) => proxy.cut({ direction: "to-server", pattern, place: "after" });
        const step = { ...(await granted(side, request("key", "a"))), name: "charge", leaseMs: 30_000 };
        const cuts = [lose("s.started_us = coalesce")];
        expect(await side.startStep(step)).toBe("ok");
        cuts.push(lose("s.finished_us = coalesce"));
        expect(await side.finishStep({ ...step, result: new Uint8Array([1]) })).toBe("ok");
        cuts.push(lose("hold_reason = coalesce"));
        expect(await side.suspend({ ...step, holdReason: "ask" })).toBe("ok");
        cuts.push(lose("a.at_us ="));
        const settlement = { identity: step.identity, fence: step.fence, actor: "Ann", reason: "nothing there" };
        expect(await side.settle({ ...settlement, decision: { kind: "release" } })).toBe("ok");
        expect(await side.audit(step.identity)).toHaveLength(1);
        const next = await granted(side, request("key", "b"));
        cuts.push(lose("state = if(hold_reason is null, 'failed'"));
        expect(await side.release(next)).toBe("ok");
        const last = await granted(side, request("key", "c"));
        cuts.push(lose("state = 'completed', lease_us"));
        expect(await side.complete({ ...last, response: sampleResponse() })).toBe("ok");
        expect(cuts.map((cut) => cut.count)).toEqual(cuts.map(() => 1));
        expect([last.attempt, last.stepsStarted]).toEqual([3, 1]);
      });

      test("S18 a half-open connection is bounded by the deadline and never used again", async () => {
        const side = store({ connections: 1 }, 300);
        await side.ping();
        proxy.faults({ toClient: { blackhole: true } });
        const startedMs = performance.now();
        await expect(side.claim(request("key", "a"))).rejects.toMatchObject({ code: "store-unavailable" });
        expect(performance.now() - startedMs).toBeLessThan(5_000);
        proxy.faults({});
        const claim = await granted(side, request("key", "a"));
        expect(claim.attempt, "the first try had reached the server, or not: one attempt either way").toBe(1);
      });

      test("S18 a pool whose connections are all taken is bounded by the deadline and leaks none", async () => {
        const client = open(driver, database.url, { connections: 1 });
        const side = mysqlStore(client.pool, { callTimeoutMs: 1_500 });
        await side.ping();
        const taken = await client.pool.getConnection();
        await expect(side.claim(request("key", "a"))).rejects.toMatchObject({ code: "store-unavailable" });
        await taken.release();
        await sleep(50);
        for (let turn = 0; turn < 3; turn += 1) await granted(side, request(`key-${turn}`, "a"));
      });

      test("S18 a server that refuses connections fails the call within its deadline, and calls go on when it is back", async () => {
        const side = store();
        await side.ping();
        proxy.admit("reset");
        proxy.reset();
        await expect(side.claim(request("key", "a"))).rejects.toMatchObject({ code: "store-unavailable" });
        proxy.admit("pass");
        await granted(side, request("key", "a"));
      });
    });
  }
});
