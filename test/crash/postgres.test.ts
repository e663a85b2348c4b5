/** The PostgreSQL store when the server dies, stalls, is full or is the wrong one. */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import postgres from "postgres";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { postgresStore } from "ichido/postgres";
import type { PostgresStore } from "ichido/postgres";
import { sampleIdentity, sampleResponse } from "ichido/testing";
import { grant, request } from "../stores/postgres-life.ts";
import { startPostgres } from "../support/services.ts";
import type { Instance } from "../support/services.ts";

let server: Instance;
const ends: (() => Promise<unknown>)[] = [];

function newPool(options: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ connectionString: server.url, ...options });
  pool.on("error", () => {});
  ends.push(() => pool.end());
  return pool;
}

async function newClient(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: server.url });
  client.on("error", () => {});
  await client.connect();
  ends.push(() => client.end());
  return client;
}

async function recordsNamed(key: string): Promise<number> {
  const { rows } = await newPool({ max: 1 }).query("select count(*)::int as n from ichido_records where key = $1", [
    key,
  ]);
  return (rows[0] as { n: number }).n;
}

/** How long it took and how it ended. */
async function timed<Value>(call: Promise<Value>): Promise<{ value?: Value; error?: unknown; ms: number }> {
  const startMs = performance.now();
  const outcome = await call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  return { ...outcome, ms: performance.now() - startMs };
}

beforeAll(async () => {
  server = await startPostgres();
  await postgresStore(newPool({ max: 1 })).migrate();
});
afterEach(async () => {
  await Promise.all(ends.splice(0).map((end) => end().catch(() => undefined)));
});
afterAll(() => server.stop());

describe("postgres, a pool with nothing to lend", () => {
  it.each([true, false])(
    "S1 the call ends in time, and no claim runs later for a caller that has left, group %s",
    async (group) => {
      const pool = newPool({ max: 1 });
      const store = postgresStore(pool, { callTimeoutMs: 600, group });
      const held = await pool.connect();
      const key = `exhausted-${group}`;
      const { error, ms } = await timed(store.claim(request(key, "a")));
      expect(error).toMatchObject({ code: "store-unavailable", retryable: true });
      expect(ms).toBeLessThan(5_000);
      held.release();
      // The queue of the pool is served now; whatever had been left in it would run.
      await pool.query("select 1");
      await sleep(100);
      expect(await recordsNamed(key)).toBe(0);
      expect((await store.claim(request(key, "b"))).outcome).toBe("granted");
    },
  );

  it("S1 postgres.js: a claim that still waits in the driver's queue is taken out of it", async () => {
    const sql = postgres(server.url, { max: 1 });
    ends.push(() => sql.end());
    const store = postgresStore(sql, { callTimeoutMs: 600 });
    const held = await sql.reserve();
    const { error } = await timed(store.claim(request("exhausted-js", "a")));
    expect(error).toMatchObject({ code: "store-unavailable" });
    held.release();
    await sql`select 1`;
    await sleep(100);
    expect(await recordsNamed("exhausted-js")).toBe(0);
    expect((await store.claim(request("exhausted-js", "b"))).outcome).toBe("granted");
  });
});

describe("postgres, rows and tables that others hold", () => {
  async function lockRow(key: string): Promise<pg.Client> {
    const client = await newClient();
    await client.query("begin");
    await client.query("select from ichido_records where key = $1 for update", [key]);
    return client;
  }

  it.each([true, false])(
    "S4 a lapsed record that another session has locked is answered in flight, in time, group %s",
    async (group) => {
      const store = postgresStore(newPool(), { lockTimeoutMs: 300, group });
      const key = `locked-${group}`;
      const claim = await grant(store, request(key, "a"));
      await store.suspend(claim);
      const holder = await lockRow(key);
      const { value, ms } = await timed(store.claim(request(key, "b")));
      expect(value).toMatchObject({ outcome: "processing", attempts: 1 });
      expect(value?.outcome === "processing" && value.leaseLeftMs).toBeGreaterThan(0);
      expect(ms).toBeGreaterThanOrEqual(290);
      expect(ms).toBeLessThan(5_000);
      const other = { version: 1, raw: new Uint8Array(32), canonical: new Uint8Array(32) };
      expect((await store.claim(request(key, "c", { fingerprint: other }))).outcome).toBe("mismatch");
      await holder.query("rollback");
      expect((await store.claim(request(key, "d"))).outcome).toBe("granted");
    },
  );

  it("S4 the lock timeout is set in the claim's own statement and nothing of it stays on the session", async () => {
    const pool = newPool({ max: 1 });
    const store = postgresStore(pool, { lockTimeoutMs: 200 });
    await grant(store, request("session", "a"));
    expect((await pool.query("show lock_timeout")).rows).toEqual([{ lock_timeout: "0" }]);
  });

  it("one locked row does not hold up the others of its group", async () => {
    const store = postgresStore(newPool(), { lockTimeoutMs: 1_000 });
    const stuck = await grant(store, request("m-stuck", "a"));
    await store.suspend(stuck);
    const holder = await lockRow("m-stuck");
    const others = ["a-1", "b-1", "z-1", "z-2"].map((key) => timed(store.claim(request(key, "o"))));
    const blocked = timed(store.claim(request("m-stuck", "b")));
    for (const { value, ms } of await Promise.all(others)) {
      expect(value?.outcome).toBe("granted");
      expect(ms).toBeLessThan(900);
    }
    expect((await blocked).value?.outcome).toBe("processing");
    // Nor what comes while it is being waited for.
    const again = store.claim(request("m-stuck", "c"));
    await sleep(20);
    expect((await timed(store.claim(request("later", "o")))).ms).toBeLessThan(900);
    expect((await again).outcome).toBe("processing");
    await holder.query("rollback");
  });

  it("one locked row does not hold up the completions that travel with it", async () => {
    const store = postgresStore(newPool(), { lockTimeoutMs: 1_000 });
    const names = ["c-1", "c-2", "c-stuck", "c-3"];
    const claims = await Promise.all(names.map((key) => grant(store, request(key, "a"))));
    const holder = await lockRow("c-stuck");
    const answers = await Promise.all(
      claims.map((claim) =>
        timed(store.complete({ ...claim, response: sampleResponse({ body: claim.identity.key }) })),
      ),
    );
    for (const [index, { value, error, ms }] of answers.entries()) {
      if (names[index] === "c-stuck")
        expect(error).toMatchObject({ code: "store-unavailable", message: expect.stringMatching(/55P03/) as string });
      else expect({ value, quick: ms < 900 }).toEqual({ value: "ok", quick: true });
    }
    await holder.query("rollback");
    const [, , stuck] = claims;
    expect(stuck && (await store.complete({ ...stuck, response: sampleResponse() }))).toBe("ok");
  });

  it("S5 one locked row does not cost the others their lease, and is told as locked at once", async () => {
    const store = postgresStore(newPool());
    const names = ["r-1", "r-stuck", "r-2", "r-overtaken"];
    const claims = await Promise.all(names.map((key) => grant(store, request(key, "a", { leaseMs: 5_000 }))));
    const holder = await lockRow("r-stuck");
    const leases = (): Promise<(number | undefined)[]> =>
      Promise.all(claims.map(async ({ identity }) => (await store.find(identity))?.leaseLeftMs));
    const renewals = claims.map((claim, index) => ({
      ...claim,
      leaseMs: 60_000,
      fence: names[index] === "r-overtaken" ? claim.fence - 1 : claim.fence,
    }));
    expect(await store.renew(renewals)).toEqual(["ok", "locked", "ok", "stale"]);
    const [first = 0, stuck = 0, second = 0] = await leases();
    expect([first > 30_000, stuck > 30_000, second > 30_000]).toEqual([true, false, true]);
    await holder.query("rollback");
    expect(await store.renew(renewals)).toEqual(["ok", "ok", "ok", "stale"]);
    expect((await leases())[1]).toBeGreaterThan(30_000);
  });

  it("S4 a backend that is stopped in its tracks while it holds the row costs a bounded wait, and its work still counts", async () => {
    const store = postgresStore(newPool(), { lockTimeoutMs: 300 });
    const claim = await grant(store, request("stopped", "a"));
    await store.suspend(claim);
    const holder = await newClient();
    const { rows } = await holder.query("select pg_backend_pid() as pid");
    const { pid } = rows[0] as { pid: number };
    await holder.query("begin");
    await holder.query("update ichido_records set labels = '{}' where key = 'stopped'");
    process.kill(pid, "SIGSTOP");
    try {
      const waited = await timed(store.claim(request("stopped", "b")));
      expect(waited.value?.outcome).toBe("processing");
      expect(waited.ms).toBeGreaterThanOrEqual(290);
      expect(waited.ms).toBeLessThan(5_000);
      const impatient = postgresStore(newPool(), { callTimeoutMs: 800 });
      const { error, ms } = await timed(impatient.complete({ ...claim, response: sampleResponse() }));
      expect(error).toMatchObject({ code: "store-unavailable" });
      expect(ms).toBeLessThan(5_000);
      expect((await store.claim(request("unrelated", "a"))).outcome).toBe("granted");
    } finally {
      process.kill(pid, "SIGCONT");
    }
    await holder.query("rollback");
    expect(await store.complete({ ...claim, response: sampleResponse() })).toBe("ok");
  });

  it("a table that is locked whole, and a statement timeout of the user's, end in a refusal in time", async () => {
    const pool = newPool({ options: "-c statement_timeout=150", max: 2 });
    const store = postgresStore(pool, { callTimeoutMs: 1_000 });
    const holder = await newClient();
    await holder.query("begin");
    await holder.query("lock table ichido_records in access exclusive mode");
    const calls: readonly (() => Promise<unknown>)[] = [
      () => store.claim(request("table", "a")),
      () => store.find(sampleIdentity("table")),
    ];
    for (const call of calls) {
      const { error, ms } = await timed(call());
      expect(error).toMatchObject({ code: "store-unavailable" });
      expect(ms).toBeLessThan(5_000);
    }
    await holder.query("rollback");
    expect((await store.claim(request("table", "a"))).outcome).toBe("granted");
  });
});

describe("postgres, sessions that serialize", () => {
  it("S1 serialization failures are repeated by the same owner until there is an answer", async () => {
    const pool = newPool({ options: "-c default_transaction_isolation=serializable", max: 10 });
    const stores = Array.from({ length: 4 }, () => postgresStore(pool, { callTimeoutMs: 20_000 }));
    const rollbacks = async (): Promise<number> => {
      const { rows } = await pool.query(
        "select xact_rollback::int as n from pg_stat_database where datname = current_database()",
      );
      return (rows[0] as { n: number }).n;
    };
    const before = await rollbacks();
    // Not vacuous: rounds go on until there were failures, which nobody saw. The server tells of them a little later.
    for (let round = 0; round < 400 && (round < 10 || (await rollbacks()) <= before); round += 1) {
      const results = await Promise.all(
        Array.from({ length: 12 }, (_, index) =>
          (stores[index % 4] as PostgresStore).claim(request(`serial-${round}`, `${round}-${index}`)),
        ),
      );
      expect(results.filter((result) => result.outcome === "granted")).toHaveLength(1);
      expect(results.filter((result) => result.outcome === "processing")).toHaveLength(11);
    }
    await expect.poll(rollbacks, { timeout: 15_000 }).toBeGreaterThan(before);
  }, 90_000);
});

describe("postgres, the server dies", () => {
  it("S1 S7 killed and started again under load: one grant a key, nothing acknowledged is lost, claims go on within 5 s", async () => {
    const stores = [newPool({ max: 6 }), newPool({ max: 6 })].map((pool) => postgresStore(pool));
    const grants = new Map<string, Set<string>>();
    const completed = new Map<string, string>();
    const tally = { answers: 0, failures: 0, replays: 0 };
    let running = true;

    /** One caller: asks with one owner value until it is answered, completes what it is granted. */
    async function ask(store: PostgresStore, key: string, owner: string): Promise<void> {
      const asked = request(key, owner, { takeover: "none" });
      while (running) {
        try {
          const result = await store.claim(asked);
          tally.answers += 1;
          if (result.outcome === "completed") tally.replays += 1;
          if (result.outcome !== "granted") return;
          grants.set(key, (grants.get(key) ?? new Set()).add(owner));
          const response = sampleResponse({ body: owner });
          if ((await store.complete({ ...asked, fence: result.fence, response })) === "ok") completed.set(key, owner);
          return;
        } catch (error) {
          expect(error).toMatchObject({ code: "store-unavailable" });
          tally.failures += 1;
        }
      }
    }

    let next = 0;
    const callers = Array.from({ length: 16 }, async (_, index) => {
      while (running) {
        next += 1;
        // Neighbouring callers meet on a key, through both stores.
        await ask(stores[index % 2] as PostgresStore, `kill-${next >> 2}`, `${index}-${next}`);
      }
    });

    for (let kill = 0; kill < 3; kill += 1) {
      const before = tally.answers;
      await expect.poll(() => tally.answers, { timeout: 20_000 }).toBeGreaterThan(before + 50);
      await server.kill("SIGKILL");
      await sleep(200);
      await server.restart();
      const { value, ms } = await timed((stores[0] as PostgresStore).claim(request(`after-${kill}`, "x")));
      expect(value?.outcome).toBe("granted");
      expect(ms).toBeLessThan(5_000);
    }
    running = false;
    await Promise.all(callers);

    for (const [key, owners] of grants) expect([...owners], key).toHaveLength(1);
    const store = postgresStore(newPool());
    for (const [key, owner] of completed) {
      const answer = await store.claim(request(key, "late"));
      expect(answer.outcome === "completed" && Buffer.from(answer.response.body).toString(), key).toBe(owner);
    }
    expect(completed.size).toBeGreaterThan(30);
    expect(tally.replays).toBeGreaterThan(0);
  }, 120_000);
});
