/** The PostgreSQL store when the network loses what was said: the owner value decides, never a guess. */
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { postgresStore } from "ichido/postgres";
import { createFaultProxy, sampleResponse } from "ichido/testing";
import type { FaultProxy } from "ichido/testing";
import { fromPg } from "ichido/transactions";
import { grant, request } from "../stores/postgres-life.ts";
import { startPostgres } from "../support/services.ts";
import type { Instance } from "../support/services.ts";

const rounds = 100;

let server: Instance;
let proxy: FaultProxy;
let direct: pg.Pool;
const pools: pg.Pool[] = [];

function newPool(options: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ connectionString: proxy.url, ...options });
  pool.on("error", () => {});
  pools.push(pool);
  return pool;
}

beforeAll(async () => {
  server = await startPostgres();
  proxy = await createFaultProxy({ target: server.url });
  direct = new pg.Pool({ connectionString: server.url });
  direct.on("error", () => {});
  await postgresStore(direct).migrate();
  await direct.query("create table payments (key text)");
});
afterEach(async () => {
  proxy.heal();
  await Promise.all(pools.splice(0).map((pool) => pool.end()));
});
afterAll(async () => {
  await direct.end();
  await proxy.close();
  await server.stop();
});

describe.each([true, false])("postgres, answers that are lost, group %s", (group) => {
  it(`S2 ${rounds} of ${rounds} claims whose answer was lost are granted to the same owner, once each`, async () => {
    const store = postgresStore(newPool({ max: 3 }), { group });
    const times = { first: 0, resent: 0 };
    for (let round = 0; round < rounds; round += 1) {
      const arrived = round % 2 === 0;
      // By its value: a prepared statement travels without its text.
      const key = `claim-${group}-${round}`;
      const cut = proxy.cut({ direction: "to-server", pattern: key, place: arrived ? "after" : "before" });
      const asked = request(key, `${round}`);
      const result = await store.claim(asked);
      expect(cut.count).toBe(1);
      expect(result).toMatchObject({ outcome: "granted", attempt: 1, origin: "new" });
      if (result.outcome === "granted") times[result.resent === true ? "resent" : "first"] += 1;
      expect((await store.claim(request(key, "other"))).outcome).toBe("processing");
    }
    expect(times).toEqual({ first: rounds / 2, resent: rounds / 2 });
  }, 120_000);

  it("S2 a refusal to a claim that was sent twice says that the other copy may be granted unheard", async () => {
    const store = postgresStore(newPool({ max: 3 }), { group });
    const key = `twice-${group}`;
    await grant(store, request(key, "a"));
    expect(await store.claim(request(key, "b"))).not.toHaveProperty("unheard");
    const cut = proxy.cut({ direction: "to-server", pattern: key, place: "after" });
    expect(await store.claim(request(key, "c"))).toMatchObject({ outcome: "processing", unheard: true });
    expect(cut.count).toBe(1);
  });

  it(`S7 ${rounds} of ${rounds} completions whose answer was lost are stored once, and say so`, async () => {
    const store = postgresStore(newPool({ max: 3 }), { group });
    for (let round = 0; round < rounds; round += 1) {
      const claim = await grant(store, request(`complete-${group}-${round}`, `${round}`));
      const place = round % 2 === 0 ? "after" : "before";
      const cut = proxy.cut({ direction: "to-server", pattern: "ichido_complete(", place });
      const response = sampleResponse({ body: `answer ${round}` });
      expect(await store.complete({ ...claim, response })).toBe("ok");
      expect(cut.count).toBe(1);
      const answer = await store.claim(request(`complete-${group}-${round}`, "other"));
      expect(answer.outcome === "completed" && Buffer.from(answer.response.body).toString()).toBe(`answer ${round}`);
    }
  }, 120_000);
});

describe("postgres, a COMMIT whose answer is lost", () => {
  it(`S2 ${rounds} of ${rounds}: a claim with the same owner tells whether the caller's transaction took effect`, async () => {
    const pool = newPool({ max: 3 });
    const store = postgresStore(pool);
    const told = { completed: 0, granted: 0 };
    for (let round = 0; round < rounds; round += 1) {
      const key = `commit-${round}`;
      const asked = request(key, `${round}`);
      const claim = await grant(store, asked);
      const client = await pool.connect();
      client.on("error", () => {});
      await client.query("begin");
      await client.query("insert into payments values ($1)", [key]);
      expect(await store.complete({ ...claim, response: sampleResponse() }, fromPg(client))).toBe("ok");
      const cut = proxy.cut({ direction: "to-server", pattern: "commit", place: round % 2 === 0 ? "after" : "before" });
      await expect(client.query("commit")).rejects.toThrow();
      client.release(true);
      expect(cut.count).toBe(1);

      const verdict = await store.claim(asked);
      const { rows } = await direct.query("select count(*)::int as n from payments where key = $1", [key]);
      const paid = (rows[0] as { n: number }).n;
      if (verdict.outcome === "completed") {
        told.completed += 1;
        expect(paid).toBe(1);
      } else {
        expect(verdict).toMatchObject({ outcome: "granted", resent: true, fence: claim.fence });
        told.granted += 1;
        expect(paid).toBe(0);
      }
    }
    expect(told).toEqual({ completed: rounds / 2, granted: rounds / 2 });
  }, 120_000);
});

describe("postgres, connections that are open and dead", () => {
  it("S2 a half-open connection costs a part of the call's time; the connection is not used again", async () => {
    const pool = newPool({ max: 2 });
    const store = postgresStore(pool, { callTimeoutMs: 1_600 });
    await grant(store, request("warm", "a"));
    // The newest: on a busy machine those of the test before may still be closing.
    const dead = proxy.connections.at(-1);
    dead?.faults({ toServer: { blackhole: true }, toClient: { blackhole: true } });
    const startMs = performance.now();
    const result = await store.claim(request("half-open", "a"));
    expect(result).toMatchObject({ outcome: "granted", origin: "new" });
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(700);
    expect(performance.now() - startMs).toBeLessThan(1_600);
    const nextMs = performance.now();
    expect((await store.claim(request("after", "a"))).outcome).toBe("granted");
    expect(performance.now() - nextMs).toBeLessThan(700);
  });

  it("S2 an answer that never comes is asked for again by the same owner", async () => {
    const store = postgresStore(newPool({ max: 2 }), { callTimeoutMs: 1_600 });
    await grant(store, request("warm-2", "a"));
    for (const connection of proxy.connections) connection.faults({ toClient: { blackhole: true } });
    expect(await store.claim(request("unheard", "a"))).toMatchObject({
      outcome: "granted",
      origin: "new",
      resent: true,
      attempt: 1,
    });
  });

  it("a network that swallows everything ends in a refusal in time, and is forgotten once it is good again", async () => {
    const store = postgresStore(newPool({ max: 2 }), { callTimeoutMs: 800 });
    await grant(store, request("warm-3", "a"));
    proxy.faults({ toServer: { blackhole: true }, toClient: { blackhole: true } });
    proxy.admit("hang");
    const startMs = performance.now();
    await expect(store.claim(request("swallowed", "a"))).rejects.toMatchObject({ code: "store-unavailable" });
    expect(performance.now() - startMs).toBeLessThan(5_000);
    proxy.heal();
    await expect
      .poll(
        () =>
          store.claim(request("swallowed", "a")).then(
            ({ outcome }) => outcome,
            () => "refused",
          ),
        { timeout: 15_000 },
      )
      .toBe("granted");
  });
});
