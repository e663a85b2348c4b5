/** The connection breaks around COMMIT, a hundred times each way: the client sees the same error, the truth differs. */
import { createFaultProxy } from "ichido/testing";
import type { FaultProxy } from "ichido/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith } from "../support/services.ts";
import { caller } from "./callers.ts";
import type { Caller, Handler } from "./callers.ts";
import { addEffect, mariadbBench, postgresBench } from "./databases.ts";
import type { Bench, Side } from "./databases.ts";

const rounds = 100;

function suite(make: () => Promise<Bench>): void {
  let bench: Bench;
  let proxy: FaultProxy;
  let records: Side;
  let business: Side;
  let shop: Caller;
  beforeAll(async () => {
    bench = await make();
    proxy = await createFaultProxy({ target: bench.url });
    // Only the business connections are cut: the record must still be asked.
    records = bench.side();
    business = bench.side(proxy.url);
    shop = caller({ ...records, runner: business.runner });
  });
  afterAll(async () => {
    await shop?.ichido.close();
    await records?.close();
    await business?.close();
    await proxy?.close();
    await bench?.close();
  });

  let ran = 0;
  const writing =
    (name: string): Handler =>
    async (context) => {
      ran += 1;
      await context.transaction(async (_tx, handle) => {
        await addEffect(handle, name);
        return { status: 201, body: { name, attempt: context.attempt } };
      });
      return { status: 500 };
    };

  test.each([
    ["R8 COMMIT took effect and its answer was lost: resolved as committed", "after", 201],
    ["R8 COMMIT never arrived: resolved as rolled back, and the retry runs", "before", 500],
  ] as const)(`%s, ${rounds} of ${rounds}`, { timeout: 120_000 }, async (_title, place, status) => {
    const tally = { cut: 0, answered: 0, effects: 0, ran: 0 };
    for (let round = 0; round < rounds; round += 1) {
      const key = `${place}-${round}`;
      const cut = proxy.cut({ direction: "to-server", pattern: "COMMIT", place });
      ran = 0;
      const first = await shop.ask(key, writing(key));
      tally.cut += cut.count;
      tally.answered += first.status === status ? 1 : 0;
      expect(await bench.effects(key)).toHaveLength(place === "after" ? 1 : 0);
      const retry = await shop.ask(key, writing(key));
      expect(retry).toMatchObject({ status: 201, replayed: place === "after" });
      tally.effects += (await bench.effects(key)).length;
      tally.ran += ran;
    }
    expect(tally).toEqual({
      cut: rounds,
      answered: rounds,
      effects: rounds,
      ran: place === "after" ? rounds : 2 * rounds,
    });
  });

  test("R8 an answer on a transaction that the handler commits itself is resolved the same way", async () => {
    for (const place of ["after", "before"] as const) {
      const key = `own-${place}`;
      const handler: Handler = async (context) => {
        await business.runner.run(async (_tx, handle) => {
          await addEffect(handle, key);
          await context.complete(handle, { status: 201, body: { key } });
        });
        return { status: 200 };
      };
      proxy.cut({ direction: "to-server", pattern: "COMMIT", place });
      const first = await shop.ask(key, handler);
      expect(first.status).toBe(place === "after" ? 201 : 500);
      expect(await bench.effects(key)).toHaveLength(place === "after" ? 1 : 0);
      const retry = await shop.ask(key, handler);
      expect(retry).toMatchObject({ status: 201, replayed: place === "after" });
      expect(await bench.effects(key)).toHaveLength(1);
    }
  });
}

describeWith("postgres", "a lost COMMIT on PostgreSQL", () => suite(postgresBench));
describeWith("mariadb", "a lost COMMIT on MariaDB", () => suite(mariadbBench));
