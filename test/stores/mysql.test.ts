import { afterAll, beforeAll, describe, it } from "vitest";
import { mysqlStore } from "ichido/mysql";
import { storeSuite } from "ichido/testing";
import { mariadbTransactions, mysql2Transactions } from "ichido/transactions";
import type { TransactionRunner } from "ichido/transactions";
import { describeWith, freshDatabase } from "../support/services.ts";
import type { FreshDatabase } from "../support/services.ts";
import { drivers, emptyTables, migrated, openClient, withMovedClock } from "./mysql-clients.ts";
import type { Client } from "./mysql-clients.ts";

describeWith("mariadb", "mysql store", (url) => {
  let database: FreshDatabase;
  const clients: Client[] = [];
  beforeAll(async () => {
    database = await freshDatabase(url);
    await migrated(open("mysql2"));
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.end()));
    await database.drop();
  });

  function open(driver: (typeof drivers)[number]): Client {
    const client = openClient(driver, database.url);
    clients.push(client);
    return client;
  }

  for (const driver of drivers) {
    let first: Client | undefined;
    let second: Client | undefined;
    const isGrouped = driver === "mysql2";
    storeSuite(
      { describe, it },
      {
        name: `MariaDB through ${driver}${isGrouped ? "" : ", ungrouped beside one that groups"}`,
        watches: true,
        joins: true,
        histories: 2,
        async open() {
          first ??= open(driver);
          second ??= open(driver === "mysql2" ? "mariadb" : "mysql2");
          await emptyTables(first);
          const runner = driver === "mysql2" ? mysql2Transactions : mariadbTransactions;
          return {
            store: mysqlStore(first.pool, { group: isGrouped }),
            second: mysqlStore(second.pool),
            runner: runner(first.pool as never) as TransactionRunner<unknown>,
            close: async () => undefined,
          };
        },
      },
    );
  }

  let moved: Client | undefined;
  storeSuite(
    { describe, it },
    {
      name: "MariaDB with a clock that is moved",
      watches: true,
      movesClock: true,
      async open() {
        moved ??= open("mysql2");
        await emptyTables(moved);
        const clock = { nowMs: 1_700_000_000_000 };
        const pool = withMovedClock(moved.pool, clock);
        return {
          store: mysqlStore(pool),
          second: mysqlStore(pool),
          clock: { advanceMs: (ms) => void (clock.nowMs += ms) },
          close: async () => undefined,
        };
      },
    },
  );
});
