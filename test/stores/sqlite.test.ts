/** The store suite on both drivers, each with two connections to one file. */
import { sqliteStore } from "ichido/sqlite";
import { fakeClock, storeSuite } from "ichido/testing";
import { betterSqlite3Transactions, nodeSqliteTransactions } from "ichido/transactions";
import type { TransactionRunner } from "ichido/transactions";
import { describe, it } from "vitest";
import { drivers, temporaryFile } from "./sqlite-files.ts";

for (const [name, connect] of Object.entries(drivers)) {
  async function open(nowMs?: () => number) {
    const file = temporaryFile();
    const databases = [connect(file.path), connect(file.path)] as const;
    const options = nowMs === undefined ? {} : { nowMs };
    const [store, second] = [sqliteStore(databases[0], options), sqliteStore(databases[1], options)];
    const runner: TransactionRunner<unknown> =
      "inTransaction" in databases[0]
        ? betterSqlite3Transactions(databases[0] as never)
        : nodeSqliteTransactions(databases[0] as never);
    await store.migrate();
    return {
      store,
      second,
      runner,
      async close() {
        await store.close();
        await second.close();
        for (const database of databases) database.close();
        file.remove();
      },
    };
  }

  storeSuite(
    { describe, it },
    {
      name: `sqlite on ${name}`,
      movesClock: true,
      watches: true,
      joins: true,
      async open() {
        const clock = fakeClock();
        return { ...(await open(clock.nowMs)), clock: { advanceMs: (ms) => clock.stepWall(ms) } };
      },
    },
  );

  // The host's clock is SQLite's own, the same for both drivers; waiting for it once is enough.
  if (name !== "node:sqlite") continue;
  storeSuite(
    { describe, it },
    { name: `sqlite on ${name} by the host's clock`, watches: true, joins: true, histories: 2, open: () => open() },
  );
}
