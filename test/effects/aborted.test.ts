/** PostgreSQL undoes a transaction in which a statement failed, and answers COMMIT without an error. */
import { fromKysely, kyselyTransactions, pgTransactions } from "ichido/transactions";
import type { TransactionRunner } from "ichido/transactions";
import { Kysely, PostgresDialect, sql } from "kysely";
import { Pool } from "pg";
import { expect, it } from "vitest";
import { describeWith, freshDatabase } from "../support/services.ts";

describeWith("postgres", "a transaction whose failed statement was caught", (server) => {
  it("is not reported as committed, and its connection serves on", async () => {
    const database = await freshDatabase(server);
    const pool = new Pool({ connectionString: database.url, max: 1 });
    pool.on("error", () => {});
    const transactions = pgTransactions(pool);
    await pool.query("create table effects (id int primary key)");
    await expect(
      transactions.run(async (tx) => {
        await tx.query("insert into effects values (1)");
        await tx.query("insert into effects values (1)").catch(() => "never mind");
        return "done";
      }),
    ).rejects.toThrow(/PostgreSQL undoes the whole transaction/);
    expect(await transactions.run(async (tx) => (await tx.query("select * from effects")).rows)).toEqual([]);
    await pool.end();
    await database.drop();
  });

  it("goes on after a rollback to a savepoint, also through the handle whose statement failed", async () => {
    const database = await freshDatabase(server);
    const pool = new Pool({ connectionString: database.url, max: 2 });
    pool.on("error", () => {});
    await pool.query("create table effects (id int primary key)");
    const kysely = kyselyTransactions(new Kysely({ dialect: new PostgresDialect({ pool }) }), "postgres");
    const ways = [
      [1, pgTransactions(pool), (tx: unknown, text: string) => (tx as Pool).query(text)],
      [2, kysely, (tx: unknown, text: string) => sql.raw(text).execute(tx as Kysely<unknown>)],
    ] as const;
    for (const [id, runner, say] of ways) {
      await (runner as TransactionRunner<unknown>).run(async (tx, handle) => {
        const insert = (): Promise<unknown> => handle.execute("insert into effects values ($1)", [id]);
        await insert();
        await say(tx, "savepoint before");
        await expect(insert()).rejects.toThrow(/duplicate/);
        await say(tx, "rollback to savepoint before");
        await handle.execute("insert into effects values ($1)", [id + 10]);
      });
    }
    expect((await pool.query("select id from effects order by id")).rows.map(({ id }) => id)).toEqual([1, 2, 11, 12]);
    await pool.end();
    await database.drop();
  });

  it("goes on after a rollback to a savepoint, also through a handle that was first used while it was undone", async () => {
    const database = await freshDatabase(server);
    const pool = new Pool({ connectionString: database.url, max: 1 });
    pool.on("error", () => {});
    await pool.query("create table effects (id int primary key)");
    const kysely = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
    await kysely.transaction().execute(async (trx) => {
      const say = (text: string): Promise<unknown> => sql.raw(text).execute(trx);
      const handle = fromKysely(trx, "postgres");
      const insert = (): Promise<unknown> => handle.execute("insert into effects values ($1)", [1]);
      await say("savepoint before");
      await expect(say("select 1 / 0")).rejects.toThrow(/division by zero/);
      await expect(insert()).rejects.toMatchObject({ code: "25P02" });
      await say("rollback to savepoint before");
      await insert();
    });
    expect((await pool.query("select id from effects")).rows).toEqual([{ id: 1 }]);
    await pool.end();
    await database.drop();
  });
});
