/** How the server finds the records of a crowd: by their keys, whatever it took the table for when it first planned. */
import { postgresStore } from "ichido/postgres";
import { sampleResponse } from "ichido/testing";
import { expect, onTestFinished, test } from "vitest";
import { describeWith } from "../support/services.ts";
import { grant, openLife, request } from "./postgres-life.ts";

const crowd = 40;

describeWith("postgres", "crowds on one connection", (url) => {
  test("a completion reads the records of its crowd alone, though the table was empty when it was planned", async () => {
    const life = await openLife(url);
    onTestFinished(() => life.end());
    const pool = life.newPool({ max: 1 });
    const store = postgresStore(pool);
    onTestFinished(() => store.close());
    /** Entries of indexes that were read, and rows of the table. */
    const read = async (): Promise<number> => {
      await pool.query("select pg_stat_force_next_flush()");
      return life.ask<number>(
        `select (select sum(idx_tup_read) from pg_stat_user_indexes where relname = 'ichido_records')::int
          + (select seq_tup_read from pg_stat_user_tables where relname = 'ichido_records')::int`,
      );
    };
    const claims = async (name: string) =>
      Promise.all(Array.from({ length: crowd }, (_, at) => grant(store, request(`${name}-${at}`, "a"))));
    const completions = async (granted: Awaited<ReturnType<typeof claims>>): Promise<void> => {
      const answers = granted.map((claim) => store.complete({ ...claim, response: sampleResponse() }));
      expect(new Set(await Promise.all(answers))).toEqual(new Set(["ok"]));
    };

    await completions(await claims("first"));
    const later = [];
    for (let turn = 0; turn < 20; turn += 1) later.push(await claims(`turn-${turn}`));
    const before = await read();
    for (const granted of later) await completions(granted);
    expect((await read()) - before).toBeLessThanOrEqual(3 * crowd * later.length);
  });
});
