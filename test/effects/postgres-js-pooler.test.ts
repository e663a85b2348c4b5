/**
 * postgres.js prepares its COMMIT. A pooler in transaction mode may hand the next transaction to a session that does not
 * know that statement: the server refuses it, which spoils the transaction, and the driver's second COMMIT is answered
 * by ROLLBACK, which it takes for a success.
 */
import { drizzle } from "drizzle-orm/postgres-js";
import { sql as drizzleSql } from "drizzle-orm";
import { drizzleTransactions, postgresTransactions, type TransactionRunner } from "ichido/transactions";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith, startPgbouncer } from "../support/services.ts";
import { addEffect, postgresBench } from "./databases.ts";
import type { Bench } from "./databases.ts";

type Sql = ReturnType<typeof postgres>;

const runners: Readonly<Record<string, (sql: Sql) => TransactionRunner<unknown>>> = {
  "postgres.js": (sql) => postgresTransactions(sql) as TransactionRunner<unknown>,
  "Drizzle on postgres.js": (sql) =>
    drizzleTransactions(drizzle({ client: sql }), drizzleSql, "postgres") as TransactionRunner<unknown>,
};

describeWith(["postgres", "pgbouncer"], "transactions of postgres.js through a pooler", () => {
  let bench: Bench;
  let pooler: Awaited<ReturnType<typeof startPgbouncer>>;
  beforeAll(async () => {
    bench = await postgresBench();
    pooler = await startPgbouncer(bench.url, { poolMode: "transaction", poolSize: 2 });
  });
  afterAll(async () => {
    await pooler?.stop();
    await bench?.close();
  });

  test.each(Object.keys(runners))("%s: what is told as committed is there, on whatever session", async (name) => {
    const notices: unknown[] = [];
    const sql = postgres(pooler.url, { max: 1, onnotice: (notice) => notices.push(notice["message"]) });
    const other = postgres(pooler.url, { max: 1 });
    const runner = (runners[name] ?? expect.fail())(sql);
    const add = (effect: string): Promise<unknown> => runner.run((_tx, handle) => addEffect(handle, effect));
    try {
      await add(`${name} first`);
      // The session that was used last is the one that is given out next.
      await other.begin(async (tx) => {
        await tx.unsafe("select 1");
        await add(`${name} second`);
      });
      expect(await bench.effects(`${name} first`)).toHaveLength(1);
      expect(await bench.effects(`${name} second`)).toHaveLength(1);
      expect(notices).toEqual([]);
    } finally {
      await Promise.all([sql.end(), other.end()]);
    }
  });
});
