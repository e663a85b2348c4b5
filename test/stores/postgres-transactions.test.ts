import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ClaimRequest, CompleteRequest } from "ichido";
import { postgresStore } from "ichido/postgres";
import { sampleIdentity, sampleResponse } from "ichido/testing";
import { fromPg, fromPostgres, pgTransactions } from "ichido/transactions";
import type { TransactionHandle } from "ichido/transactions";
import { postgresUrl } from "../support/services.ts";
import { grant, openLife, request } from "./postgres-life.ts";
import type { Life } from "./postgres-life.ts";

const serverUrl = await postgresUrl();

describe("postgres, in the caller's transaction", () => {
  let life: Life;
  beforeAll(async () => {
    life = await openLife(serverUrl);
    await life.pool.query("create table payments (id text)");
  });
  afterAll(() => life.end());

  async function inTransaction<Value>(
    work: (handle: TransactionHandle, query: (sql: string) => Promise<unknown>) => Promise<Value>,
    end: "commit" | "rollback" = "commit",
  ): Promise<Value> {
    const client = await life.pool.connect();
    try {
      await client.query("begin");
      const value = await work(fromPg(client), (sql) => client.query(sql));
      await client.query(end);
      return value;
    } catch (error) {
      await client.query("rollback");
      throw error;
    } finally {
      client.release();
    }
  }

  it("S7 a completion commits with the business write", async () => {
    const claim = await grant(life.store, request("commit", "a"));
    await inTransaction(async (handle, query) => {
      await query("insert into payments values ('commit')");
      expect(await life.store.complete({ ...claim, response: sampleResponse() }, handle)).toBe("ok");
      expect((await life.store.find(claim.identity))?.state, "before the commit").toBe("processing");
    });
    expect((await life.store.claim(request("commit", "b"))).outcome).toBe("completed");
    expect(await life.ask("select count(*)::int from payments where id = 'commit'")).toBe(1);
  });

  it("S7 a completion is gone with the transaction that was rolled back, and the owner still holds the record", async () => {
    const claim = await grant(life.store, request("rollback", "a"));
    await inTransaction(async (handle) => {
      expect(await life.store.complete({ ...claim, response: sampleResponse() }, handle)).toBe("ok");
    }, "rollback");
    expect((await life.store.claim(request("rollback", "b"))).outcome).toBe("processing");
    expect(await life.store.complete({ ...claim, response: sampleResponse() })).toBe("ok");
  });

  it("S5 a zombie's completion is stale in its transaction too, so that it can roll back", async () => {
    const zombie = await grant(life.store, request("zombie", "a"));
    await life.store.suspend(zombie);
    await grant(life.store, request("zombie", "b"));
    const answer = await inTransaction((handle) =>
      life.store.complete({ ...zombie, response: sampleResponse() }, handle),
    );
    expect(answer).toBe("stale");
  });

  it("S5 while a completion is uncommitted a takeover waits, and then finds the answer", async () => {
    const claim = await grant(life.store, request("late", "a"));
    await life.ask(
      "update ichido_records set lease_until = clock_timestamp() - interval '1 s' where key = 'late' returning 1",
    );
    let takeover: ReturnType<Life["store"]["claim"]> | undefined;
    await inTransaction(async (handle) => {
      expect(await life.store.complete({ ...claim, response: sampleResponse() }, handle)).toBe("ok");
      takeover = life.store.claim(request("late", "b"));
      await sleep(100);
    });
    expect((await takeover)?.outcome).toBe("completed");
  });

  it("postgres.js joins by the same statement", async () => {
    const sql = postgres(life.url, { max: 2 });
    const store = postgresStore(sql);
    const claim = await grant(store, request("js", "a"));
    const answer = await sql.begin((tx) => store.complete({ ...claim, response: sampleResponse() }, fromPostgres(tx)));
    expect(answer).toBe("ok");
    const joined = await sql.begin((tx) => store.claim(request("js", "b"), fromPostgres(tx)));
    expect(joined.outcome).toBe("completed");
    await sql.end();
  });

  it("a handle on another kind of database is refused before anything is written", async () => {
    const claim = await grant(life.store, request("dialect", "a"));
    const foreign: TransactionHandle = {
      dialect: "sqlite",
      execute: () => Promise.reject(new Error("must not be called")),
    };
    const message = /one database/;
    await expect(life.store.complete({ ...claim, response: sampleResponse() }, foreign)).rejects.toThrow(message);
    await expect(life.store.claim(request("dialect", "b"), foreign)).rejects.toThrow(message);
  });

  describe("claim and completion in one transaction", () => {
    async function begun(handle: TransactionHandle, asked: ClaimRequest): Promise<CompleteRequest> {
      const granted = await life.store.claim(asked, handle);
      if (granted.outcome !== "granted") throw new Error(granted.outcome);
      return { identity: asked.identity, owner: asked.owner, fence: granted.fence, response: sampleResponse() };
    }

    it("S1 a record claimed in a transaction that rolls back was never there", async () => {
      await inTransaction(async (handle) => {
        expect(await life.store.complete(await begun(handle, request("never", "a")), handle)).toBe("ok");
      }, "rollback");
      expect(await life.store.find(sampleIdentity("never"))).toBeUndefined();
    });

    it("S1 a duplicate waits for the uncommitted record and then replays it", async () => {
      let duplicate: ReturnType<Life["store"]["claim"]> | undefined;
      await inTransaction(async (handle) => {
        const completing = await begun(handle, request("wait", "a"));
        duplicate = inTransaction((second) => life.store.claim(request("wait", "b", { waitMs: 10_000 }), second));
        await sleep(100);
        expect(await life.store.complete(completing, handle)).toBe("ok");
      });
      expect((await duplicate)?.outcome).toBe("completed");
    });

    it("one transaction leaves what a claim and a completion by themselves leave", async () => {
      const labels = { order: "o\0 1" };
      const twoSteps = await grant(life.store, request("twice", "a", { labels }));
      await life.store.complete({ ...twoSteps, response: sampleResponse() });
      await inTransaction(async (handle) => {
        await life.store.complete(await begun(handle, request("whole", "a", { labels })), handle);
      });
      const [twice, whole] = await Promise.all(["twice", "whole"].map((key) => life.store.find(sampleIdentity(key))));
      const timeless = { identity: undefined, fence: 0, createdAtMs: 0, updatedAtMs: 0, expiresAtMs: 0 };
      expect({ ...whole, ...timeless }).toEqual({ ...twice, ...timeless });
      expect(whole?.fence).toBeGreaterThan(twice?.fence ?? Number.POSITIVE_INFINITY);
      const retentionMs = (whole?.expiresAtMs ?? 0) - (whole?.createdAtMs ?? 0);
      expect(retentionMs).toBe((twice?.expiresAtMs ?? 0) - (twice?.createdAtMs ?? 0));
      const { rows } = await life.pool.query(
        "select key, life = fence as same, lease_until, origin from ichido_records where key in ('twice', 'whole') order by key",
      );
      expect(rows).toEqual([
        { key: "twice", same: true, lease_until: null, origin: "new" },
        { key: "whole", same: true, lease_until: null, origin: "new" },
      ]);
    });

    it("S1 a claim by itself waits for it too, and hears that it is in flight", async () => {
      await inTransaction(async (handle) => {
        const completing = await begun(handle, request("mixed", "a"));
        expect((await life.store.claim(request("mixed", "b"))).outcome).toBe("processing");
        expect(await life.store.complete(completing, handle)).toBe("ok");
      });
      expect((await life.store.claim(request("mixed", "b"))).outcome).toBe("completed");
    });

    it("S1 a duplicate that waited where a transaction sees one state only begins again instead of running", async () => {
      let duplicate: Promise<unknown> | undefined;
      await inTransaction(async (handle) => {
        const completing = await begun(handle, request("frozen", "a"));
        duplicate = inTransaction(async (second) => {
          await second.execute("set transaction isolation level repeatable read", []);
          return life.store.claim(request("frozen", "b", { waitMs: 10_000 }), second);
        }).then(
          (granted) => granted,
          (error: unknown) => ({ refused: Reflect.get(Object(error), "code") as unknown }),
        );
        await sleep(100);
        await life.store.complete(completing, handle);
      });
      expect(await duplicate).toEqual({ refused: "40001" });
    });

    it("the question whether there is a record never reads the whole table, however small it was when first asked", async () => {
      await life.pool.query("analyze ichido_records");
      const client = await life.pool.connect();
      try {
        const scans = async (): Promise<number> => {
          await client.query("select pg_stat_force_next_flush()");
          const { rows } = await client.query(
            "select seq_scan::int as scans from pg_stat_user_tables where relname = 'ichido_records'",
          );
          return (rows[0] as { scans: number }).scans;
        };
        const before = await scans();
        for (let turn = 0; turn < 10; turn += 1) {
          await client.query("begin");
          await life.store.claim(request(`plan-${turn}`, "a"), fromPg(client));
          await client.query("rollback");
        }
        expect(await scans()).toBe(before);
      } finally {
        client.release();
      }
    });

    it("S1 a duplicate of an attempt that rolls back gets its turn", async () => {
      let duplicate: ReturnType<Life["store"]["claim"]> | undefined;
      await inTransaction(async (handle) => {
        await life.store.claim(request("turn", "a"), handle);
        duplicate = inTransaction((second) => life.store.claim(request("turn", "b", { waitMs: 10_000 }), second));
        await sleep(100);
      }, "rollback");
      expect((await duplicate)?.outcome).toBe("granted");
    });

    it("S1 a duplicate waits no longer than waitMs and then hears that it is in flight", async () => {
      await inTransaction(async (handle) => {
        await life.store.claim(request("bounded", "a"), handle);
        const startMs = performance.now();
        const waiting = inTransaction((second) => life.store.claim(request("bounded", "b", { waitMs: 200 }), second));
        expect((await waiting).outcome).toBe("processing");
        expect(performance.now() - startMs).toBeGreaterThanOrEqual(190);
      });
    });

    it("leaves the caller's lock_timeout as it was", async () => {
      await inTransaction(async (handle) => {
        await handle.execute("select set_config('lock_timeout', '12345ms', true)", []);
        await life.store.claim(request("timeout", "a", { waitMs: 77 }), handle);
        const { rows } = await handle.execute("select current_setting('lock_timeout') as timeout", []);
        expect(rows[0]?.["timeout"]).toBe("12345ms");
      });
      const { rows } = await life.pool.query("show lock_timeout");
      expect(rows).toEqual([{ lock_timeout: "0" }]);
    });

    it("tables of another prefix in the same database are waited for by nobody here", async () => {
      const neighbours = postgresStore(life.pool, { tablePrefix: "neighbour_" });
      await neighbours.migrate();
      await inTransaction(async (handle) => {
        await life.store.claim(request("namesake", "a"), handle);
        const other = await inTransaction((second) =>
          neighbours.claim(request("namesake", "b", { waitMs: 100 }), second),
        );
        expect(other.outcome).toBe("granted");
      }, "rollback");
    });

    it("the store says that it can", () => {
      expect(life.store.capabilities).toMatchObject({ transactions: "postgres", transactionMode: true });
      expect(pgTransactions(life.pool).dialect).toBe("postgres");
    });
  });
});
