/** A runner waits for nothing without a bound, and PostgreSQL does not wait for a silent client either. */
import { DatabaseSync } from "node:sqlite";
import {
  mariadbTransactions,
  mysql2Transactions,
  nodeSqliteTransactions,
  pgTransactions,
  postgresTransactions,
} from "ichido/transactions";
import type { TransactionRunner } from "ichido/transactions";
import { createPool as createMariadbPool } from "mariadb";
import { createPool } from "mysql2/promise";
import { Pool, type PoolConfig } from "pg";
import postgres from "postgres";
import { describe, expect, test } from "vitest";
import { countTrips } from "../support/round-trips.ts";
import { describeWith, freshDatabase } from "../support/services.ts";

/** One connection, which the first transaction has. */
async function crowded(runner: TransactionRunner<unknown>): Promise<void> {
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const first = runner.run(async () => {
    begun.resolve();
    await gate.promise;
    return "first";
  });
  await begun.promise;
  let ran = false;
  const second = runner.run(
    async () => {
      ran = true;
    },
    { callMs: 100 },
  );
  await expect(second).rejects.toThrow(/100 ms/);
  gate.resolve();
  expect(await first).toBe("first");
  // Two at once: one may be served before the one that gave up, the other waits behind it.
  const later = ["third", "fourth"].map((each) => runner.run(async () => each, { callMs: 5_000 }));
  expect(await Promise.all(later)).toEqual(["third", "fourth"]);
  expect(ran).toBe(false);
}

describeWith("postgres", "a pool without a free connection, PostgreSQL", (url) => {
  test("is waited for no longer than told, and what comes late goes back: pg", async () => {
    const pool = new Pool({ connectionString: url, max: 1 });
    await crowded(pgTransactions(pool));
    await pool.end();
  });

  test("likewise: postgres.js", async () => {
    const sql = postgres(url, { max: 1 });
    await crowded(postgresTransactions(sql));
    await sql.end();
  });
});

describeWith("mariadb", "a pool without a free connection, MariaDB", (url) => {
  const at = new URL(url);
  const where = { host: at.hostname, port: Number(at.port), user: at.username };

  test("is waited for no longer than told, and what comes late goes back: mysql2", async () => {
    const pool = createPool({ ...where, connectionLimit: 1 });
    await crowded(mysql2Transactions(pool));
    await pool.end();
  });

  test("likewise: mariadb", async () => {
    const pool = createMariadbPool({ ...where, connectionLimit: 1 });
    await crowded(mariadbTransactions(pool));
    await pool.end();
  });
});

describe("the line at the one connection of SQLite", () => {
  test("is waited in no longer than told", async () => {
    const database = new DatabaseSync(":memory:");
    await crowded(nodeSqliteTransactions(database));
    database.close();
  });
});

describeWith("postgres", "the server's patience with a silent client", (server) => {
  const asked = "select current_setting('idle_in_transaction_session_timeout') as patience";

  async function patienceIn(runner: TransactionRunner<unknown>, opensByHandle = false): Promise<unknown> {
    return runner.run(async (_tx, handle) => (await handle.execute(asked, [])).rows[0]?.["patience"], {
      opensByHandle,
      idleMs: 7_000,
    });
  }

  test.each([
    ["pg", {}],
    ["pg that pipelines", { pipeline: true }],
  ] as [string, PoolConfig][])("is bounded inside the transaction alone: %s", async (_name, config) => {
    const pool = new Pool({ connectionString: server, max: 1, ...config });
    const runner = pgTransactions(pool);
    const before = (await pool.query(asked)).rows;
    for (const opensByHandle of [true, false]) expect(await patienceIn(runner, opensByHandle)).toBe("7s");
    expect((await pool.query(asked)).rows).toEqual(before);
    await pool.end();
  });

  test("is bounded where a library opens the transaction", async () => {
    const sql = postgres(server, { max: 1 });
    expect(await patienceIn(postgresTransactions(sql))).toBe("7s");
    await sql.end();
  });

  test.each([
    ["1500ms", "1500ms"],
    ["0", "7s"],
    ["1h", "7s"],
  ])("a session's own %s becomes %s: the lower one counts", async (own, expected) => {
    const options = `-c idle_in_transaction_session_timeout=${own}`;
    const pool = new Pool({ connectionString: server, max: 1, options });
    expect(await patienceIn(pgTransactions(pool), true)).toBe(expected);
    await pool.end();
  });

  test("costs no round trip on pg", async () => {
    const database = await freshDatabase(server);
    const wire = await countTrips(database.url);
    const pool = new Pool({ connectionString: wire.url, max: 1 });
    const runner = pgTransactions(pool);
    await patienceIn(runner, true);
    const trips = await wire.during(() => patienceIn(runner, true));
    // BEGIN with the first statement, and COMMIT.
    expect(trips).toBe(2);
    await pool.end();
    wire.close();
    await database.drop();
  });
});
