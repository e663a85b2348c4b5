/** PostgreSQL undoes a transaction in which a statement failed, and answers COMMIT without an error. */
import { pgTransactions } from "ichido/transactions";
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
});
