/** A pool that has no connection for transactions: the caller gets 503, and the operator is told why. */
import type { IchidoEvent } from "ichido";
import { postgresStore } from "ichido/postgres";
import { pgTransactions } from "ichido/transactions";
import { Pool } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith } from "../support/services.ts";
import { caller, type Handler } from "./callers.ts";
import { postgresBench, type Bench } from "./databases.ts";

const inTransaction: Handler = async (context) => {
  await context.transaction(() => ({ status: 201 }));
  return { status: 201 };
};

describeWith("postgres", "no connection for a transaction, PostgreSQL", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await postgresBench();
  });
  afterAll(() => bench?.close());

  test.each(["transaction", "lease"] as const)(
    "is told once, and by health() until one begins: mode %s",
    async (mode) => {
      const records = new Pool({ connectionString: bench.url, max: 2 });
      const single = new Pool({ connectionString: bench.url, max: 1 });
      for (const pool of [records, single]) pool.on("error", () => {});
      const store = postgresStore(records, { callTimeoutMs: 900 });
      const side = { store, runner: pgTransactions(single), connections: () => -1, close: () => records.end() };
      const warnings: IchidoEvent[] = [];
      const shop = caller(side, {
        storeTimeoutMs: 1_000,
        onEvent: (event) => void (event.type === "warning" && warnings.push(event)),
      });
      expect((await shop.ask(`${mode}-before`, inTransaction, { mode })).status).toBe(201);
      expect(await shop.ichido.health()).toMatchObject({ ok: true });

      const taken = await single.connect();
      const why = expect.stringMatching(/postgres store failed at begin: no connection of the pool was free/) as string;
      for (const each of [1, 2]) {
        // In lease mode it is the handler that is told.
        const told = mode === "lease" ? { text: why } : { status: 503, code: "store-unavailable" };
        expect(await shop.ask(`${mode}-${each}`, inTransaction, { mode })).toMatchObject(told);
      }
      expect(warnings).toEqual([expect.objectContaining({ code: "store-failed", message: why })]);
      expect(await shop.ichido.health()).toMatchObject({
        ok: false,
        store: { reachable: true, problem: { code: "store-unavailable", message: why } },
      });

      taken.release();
      expect((await shop.ask(`${mode}-1`, inTransaction, { mode })).status).toBe(201);
      const { ok, store: told } = await shop.ichido.health();
      expect([ok, told.problem]).toEqual([true, undefined]);
      await shop.ichido.close();
      await store.close();
      await records.end();
      await single.end();
    },
  );
});
