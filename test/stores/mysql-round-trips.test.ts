/** What each verb costs in statements, and which rows its statements touch. */
import { mysqlStore } from "ichido/mysql";
import { sampleFingerprint, sampleResponse } from "ichido/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { describeWith, freshDatabase } from "../support/services.ts";
import type { FreshDatabase } from "../support/services.ts";
import { emptyTables, intercepted, migrated, openClient } from "./mysql-clients.ts";
import type { Client } from "./mysql-clients.ts";
import { granted, request } from "./mysql-life.ts";

describeWith("mariadb", "round trips of the mysql store", (url) => {
  let database: FreshDatabase;
  let client: Client;
  let store: ReturnType<typeof mysqlStore>;
  const sent: string[] = [];
  beforeAll(async () => {
    database = await freshDatabase(url);
    client = openClient("mysql2", database.url);
    await migrated(client);
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });
  beforeEach(async () => {
    await emptyTables(client);
    store = mysqlStore(intercepted(client.pool, (sql) => void sent.push(sql)));
    await store.stats();
    sent.length = 0;
  });

  async function cost(run: () => Promise<unknown>): Promise<number> {
    sent.length = 0;
    await run();
    return sent.length;
  }

  test("S1 a new record, a completion and a release take one round trip each", async () => {
    expect(await cost(() => store.claim(request("key", "a")))).toBe(1);
    const claim = await granted(store, request("key", "a"));
    expect(await cost(() => store.complete({ ...claim, response: sampleResponse() }))).toBe(1);
    const other = await granted(store, request("other", "a"));
    expect(await cost(() => store.release(other))).toBe(1);
  });

  test("S1 labels cost a new record one round trip more, and a refusal nothing", async () => {
    expect(await cost(() => store.claim(request("key", "a", { labels: { order: "7", customer: "c" } })))).toBe(2);
    expect(await cost(() => store.claim(request("key", "b", { labels: { order: "7", customer: "c" } })))).toBe(2);
  });

  test("S7 a replay, a refusal and a mismatch take two round trips and change no row", async () => {
    const single = openClient("mysql2", database.url, { connections: 1 });
    store = mysqlStore(intercepted(single.pool, (sql) => void sent.push(sql)));
    const claim = await granted(store, request("key", "a"));
    await single.rows("flush status");
    expect(await cost(() => store.claim(request("key", "b")))).toBe(2);
    const changed = async (): Promise<readonly unknown[]> =>
      (await single.rows("show session status like 'Handler_update'")).map((row) => row["Value"]);
    expect(await changed()).toEqual(["0"]);
    await store.complete({ ...claim, response: sampleResponse() });
    expect(await changed()).toEqual(["1"]);
    expect(await cost(() => store.claim(request("key", "b")))).toBe(2);
    expect(await cost(() => store.claim(request("key", "b", { fingerprint: sampleFingerprint("other") })))).toBe(2);
    expect(await changed()).toEqual(["1"]);
    await single.end();
  });

  test("S4 a takeover and a claim that is sent again take three round trips", async () => {
    const claim = await granted(store, request("key", "a"));
    expect(await cost(() => store.claim(request("key", "a")))).toBe(3);
    await store.release(claim);
    expect(await cost(() => store.claim(request("key", "b")))).toBe(3);
  });

  test("S4, S25 labels cost a takeover one round trip more", async () => {
    await store.release(await granted(store, request("key", "a", { labels: { order: "7", customer: "c" } })));
    expect(await cost(() => store.claim(request("key", "b")))).toBe(4);
  });

  test("S5 200 renewals take one round trip, two when one of them is stale", async () => {
    const claims = await Promise.all(
      Array.from({ length: 200 }, (_, index) => granted(store, request(`key-${index}`, "a"))),
    );
    const renewals = claims.map((claim) => ({ ...claim, leaseMs: 20_000 }));
    expect(await cost(() => store.renew(renewals))).toBe(1);
    await store.release(claims[7] ?? expect.unreachable());
    expect(await cost(() => store.renew(renewals))).toBe(2);
  });

  test("S15 starting a step takes two round trips, finishing it one", async () => {
    const claim = { ...(await granted(store, request("key", "a"))), name: "charge", leaseMs: 1_000 };
    expect(await cost(() => store.startStep(claim))).toBe(2);
    expect(await cost(() => store.finishStep({ ...claim, result: new Uint8Array(1) }))).toBe(1);
  });

  test("S17 listing what is open, listing by label and stats read no row of the many completed ones", async () => {
    for (let index = 0; index < 6; index += 1) {
      const claim = await granted(store, request(`key-${index}`, "a", { labels: { order: `${index}` } }));
      if (index < 5) await store.complete({ ...claim, response: sampleResponse() });
      else await store.suspend({ ...claim, holdReason: "ask" });
    }
    await client.rows(`insert into ichido_records (\`key\`, scope_hash, operation, fingerprint_version, fingerprint_raw,
      fingerprint_canonical, state, owner, fence, life, attempts, lease_us, response_kind, response_status, response_headers,
      response_body, created_us, updated_us, expires_us, sweep_us)
      select concat('many-', seq), unhex(sha2(seq, 256)), 'op', 1, 'a', 'b', 'completed', 'o', seq, seq, 1, 0, 'full', 200,
      '[]', repeat('x', 300), 1, 1, 9000000000000000, 9000000000000000 from seq_1_to_3000`);
    await client.rows("analyze table ichido_records");

    // One connection: the counters are those of its session.
    const single = openClient("mysql2", database.url, { connections: 1 });
    const reader = mysqlStore(single.pool);
    const rowsRead = async (run: () => Promise<unknown>): Promise<number> => {
      await single.rows("flush status");
      await run();
      const rows = await single.rows("show session status like 'Handler_read%'");
      return rows.reduce((sum, row) => sum + Number(row["Value"]), 0);
    };
    await reader.ping();
    const unknown = await rowsRead(async () => {
      expect((await reader.list({ state: "unknown", limit: 10 })).records).toHaveLength(1);
    });
    const labelled = await rowsRead(async () => {
      expect((await reader.list({ label: { name: "order", value: "3" }, limit: 10 })).records).toHaveLength(1);
    });
    expect(unknown).toBeLessThan(50);
    expect(labelled).toBeLessThan(50);
    const [plan] = await single.rows(
      "explain select count(*), sum(response_bytes), sum(state = 'failed') from ichido_records",
    );
    expect(plan).toMatchObject({ key: "ichido_records_state", Extra: expect.stringContaining("Using index") });
    await single.end();
  });
});
