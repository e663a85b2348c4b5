/** Somebody else is faster between two statements of one verb: each such gap, forced open. */
import { mysqlStore } from "ichido/mysql";
import type { MysqlStore } from "ichido/mysql";
import { sampleFingerprint, sampleResponse } from "ichido/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { describeWith, freshDatabase } from "../support/services.ts";
import type { FreshDatabase } from "../support/services.ts";
import { emptyTables, intercepted, migrated, openClient, trustClock, withMovedClock } from "./mysql-clients.ts";
import type { Client } from "./mysql-clients.ts";
import { granted, request } from "./mysql-life.ts";

const takes = "attempts = attempts + 1";
const looks = "step_starts, doubt_stays, hold_reason";
const restarts = "life = greatest";
const notes = "doubt_stays = 1, sweep_us = null";

describeWith("mariadb", "mysql store when somebody else is faster", (url) => {
  let database: FreshDatabase;
  let client: Client;
  let plain: MysqlStore;
  beforeAll(async () => {
    database = await freshDatabase(url);
    client = openClient("mysql2", database.url);
    plain = await migrated(client);
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });
  beforeEach(() => emptyTables(client));

  /** A store that lets `meanwhile` happen once, right before the first statement with this text. */
  function interrupted(part: string, meanwhile: () => Promise<unknown>): MysqlStore {
    let done = false;
    return mysqlStore(
      intercepted(client.pool, async (sql) => {
        if (done || !sql.includes(part)) return;
        done = true;
        await meanwhile();
      }),
    );
  }

  /** A record whose owner vanished. */
  async function lapsed() {
    const claim = await granted(plain, request("key", "a", { leaseMs: 60_000 }));
    await client.rows("update ichido_records set lease_us = 1");
    return claim;
  }

  test("S4 a lapsed record whose owner comes back before it is taken is not taken", async () => {
    const claim = await lapsed();
    const store = interrupted(takes, async () => {
      expect(await plain.renew([{ ...claim, leaseMs: 30_000 }])).toEqual(["ok"]);
    });
    expect((await store.claim(request("key", "b"))).outcome).toBe("processing");
    expect(await plain.complete({ ...claim, response: sampleResponse() })).toBe("ok");
  });

  test("S4 a lapsed record that is put on hold before it is taken is not taken", async () => {
    const claim = await lapsed();
    const store = interrupted(takes, () => plain.suspend({ ...claim, holdReason: "ask" }));
    expect(await store.claim(request("key", "b"))).toMatchObject({ outcome: "unknown", holdReason: "ask" });
  });

  test("S4 a lapsed record that is completed, released or taken before it is taken is judged anew", async () => {
    const ends: Readonly<Record<string, (claim: Awaited<ReturnType<typeof lapsed>>) => Promise<unknown>>> = {
      completed: (claim) => plain.complete({ ...claim, response: sampleResponse() }),
      granted: (claim) => plain.release(claim),
      processing: () => plain.claim(request("key", "c")),
    };
    for (const [outcome, end] of Object.entries(ends)) {
      await emptyTables(client);
      const claim = await lapsed();
      const store = interrupted(takes, () => end(claim));
      const result = await store.claim(request("key", "b"));
      expect(result.outcome).toBe(outcome);
      if (result.outcome === "granted") expect([result.origin, result.attempt]).toEqual(["failed", 2]);
    }
  });

  test("S11 a doubt that is over, or met by another, before it is noted is judged anew", async () => {
    const met = { takeover: "none", doubtStays: true } as const;
    const ends: readonly [string, (claim: Awaited<ReturnType<typeof lapsed>>) => Promise<unknown>][] = [
      ["completed", (claim) => plain.complete({ ...claim, response: sampleResponse() })],
      ["granted", (claim) => plain.release(claim)],
      ["processing", (claim) => plain.renew([{ ...claim, leaseMs: 30_000 }])],
      ["unknown", () => plain.claim(request("key", "c", met))],
    ];
    for (const [outcome, end] of ends) {
      await emptyTables(client);
      const claim = await lapsed();
      const store = interrupted(notes, () => end(claim));
      expect((await store.claim(request("key", "b", met))).outcome).toBe(outcome);
      const [row] = await client.rows("select sweep_us is null as stays from ichido_records");
      expect([outcome, Number(row?.["stays"])]).toEqual([
        outcome,
        Number(outcome === "unknown" || outcome === "granted"),
      ]);
    }
  });

  test("S1 a record that is gone when a refused claim looks at it is claimed as new", async () => {
    await granted(plain, request("key", "a"));
    const store = interrupted(looks, () => client.rows("delete from ichido_records"));
    expect(await store.claim(request("key", "b"))).toMatchObject({ outcome: "granted", origin: "new" });
  });

  test("S9 an expired record that gets a living owner before it is restarted is not restarted", async () => {
    await trustClock(client);
    const claim = await lapsed();
    await client.rows("update ichido_records set expires_us = 2, sweep_us = 2");
    const store = interrupted(restarts, async () => {
      expect(await plain.renew([{ ...claim, leaseMs: 30_000 }])).toEqual(["ok"]);
    });
    const other = { fingerprint: sampleFingerprint("other") };
    expect((await store.claim(request("key", "b", other))).outcome).toBe("mismatch");
    expect(await plain.complete({ ...claim, response: sampleResponse() })).toBe("ok");
  });

  test("S5 a step proposed by an owner that is then overtaken is never seen", async () => {
    const claim = await lapsed();
    const store = interrupted("s.started_us = coalesce", () => granted(plain, request("key", "b")));
    expect(await store.startStep({ ...claim, name: "charge", leaseMs: 1_000 })).toBe("stale");
    expect(await plain.steps(claim.identity)).toEqual([]);
    expect((await plain.find(claim.identity))?.stepsStarted).toBe(0);
  });

  test("S16 a settlement proposed on a record that then moves leaves neither a change nor an audit row", async () => {
    const claim = await lapsed();
    const store = interrupted("a.at_us =", () => granted(plain, request("key", "b")));
    const settlement = { identity: claim.identity, fence: claim.fence, actor: "Ann", reason: "gone" };
    expect(await store.settle({ ...settlement, decision: { kind: "release" } })).toBe("stale");
    expect(await plain.audit(claim.identity)).toEqual([]);
    expect(await client.rows("select id from ichido_audit")).toEqual([]);
  });

  test("S12 a record that comes back to life after it was picked is not swept", async () => {
    await trustClock(client);
    const claim = await lapsed();
    await client.rows("update ichido_records set expires_us = 2, sweep_us = 2");
    const store = interrupted("delete r from", () => plain.renew([{ ...claim, leaseMs: 30_000 }]));
    expect(await store.sweep({ limit: 10, budgetMs: 1_000 })).toMatchObject({ deleted: 0, guarded: false });
    expect(await plain.complete({ ...claim, response: sampleResponse() })).toBe("ok");
  });

  test("S5 a lock wait that times out is sent again, a few times, and then said to be a failure of the store", async () => {
    const claim = await granted(plain, request("key", "a"));
    const patient = openClient("mysql2", database.url, { session: "set session innodb_lock_wait_timeout = 1" });
    const sent: string[] = [];
    const store = mysqlStore(intercepted(patient.pool, (sql) => void sent.push(sql)));
    await store.ping();
    const holder = openClient("mysql2", database.url, { connections: 1 });
    await holder.rows("begin");
    await holder.rows("select 1 from ichido_records for update");
    sent.length = 0;
    const completing = store.complete({ ...claim, response: sampleResponse() });
    await expect.poll(() => sent.length, { timeout: 10_000 }).toBeGreaterThan(1);
    await holder.rows("rollback");
    expect(await completing).toBe("ok");

    await holder.rows("begin");
    await holder.rows("select 1 from ichido_records for update");
    sent.length = 0;
    await expect(store.claim(request("key", "b"))).rejects.toMatchObject({ code: "store-unavailable" });
    expect(sent).toHaveLength(5);
    await holder.rows("rollback");
    expect((await store.claim(request("key", "b"))).outcome).toBe("completed");
    await Promise.all([holder.end(), patient.end()]);
  });

  test("S4 a claim that waited minutes for a lock does not take a younger lease for a clock that went back", async () => {
    const present = { nowMs: 1_700_000_000_000 };
    const waited = { nowMs: present.nowMs - 180_000 };
    const owner = mysqlStore(withMovedClock(client.pool, present));
    const claim = await granted(owner, request("key", "a", { leaseMs: 60_000 }));
    const late = mysqlStore(withMovedClock(client.pool, waited));
    expect((await late.claim(request("key", "b", { takeover: "open" }))).outcome).toBe("processing");
    expect(await owner.complete({ ...claim, response: sampleResponse() })).toBe("ok");
  });
});
