/** A handler that asks the inbox's own pool for a second connection does not stand still. */
import { createInbox } from "ichido/inbox";
import { mysql2Transactions, pgTransactions } from "ichido/transactions";
import { createPool } from "mysql2/promise";
import { Pool } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { describeWith, freshDatabase } from "../support/services.ts";
import { dayMs, message } from "./inbox-messages.ts";

const messages = Array.from({ length: 6 }, () => message());

describeWith("postgres", "the inbox on a small pool of pg", (server) => {
  test("as many handlers at once as there are connections leave one free", async () => {
    const database = await freshDatabase(server);
    const pool = new Pool({ connectionString: database.url, max: 2 });
    onTestFinished(async () => {
      await pool.end();
      await database.drop();
    });
    const inbox = createInbox({ transactions: pgTransactions(pool), retentionMs: dayMs });
    await inbox.migrate();
    const results = await Promise.all(
      messages.map((one) => inbox.runOnce(one, "stock", () => pool.query("select 1 as beside"))),
    );
    expect(results.map(({ outcome }) => outcome)).toEqual(messages.map(() => "processed"));
  });
});

describeWith("mariadb", "the inbox on a small pool of mysql2", (server) => {
  test("as many handlers at once as there are connections leave one free", async () => {
    const database = await freshDatabase(server);
    const pool = createPool({ uri: database.url, connectionLimit: 2 });
    onTestFinished(async () => {
      await pool.end();
      await database.drop();
    });
    const inbox = createInbox({ transactions: mysql2Transactions(pool), retentionMs: dayMs });
    await inbox.migrate();
    const results = await Promise.all(
      messages.map((one) => inbox.runOnce(one, "stock", () => pool.query("select 1 as beside"))),
    );
    expect(results.map(({ outcome }) => outcome)).toEqual(messages.map(() => "processed"));
  });
});
