import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { sqliteStore } from "ichido/sqlite";
import { nodeSqliteTransactions } from "ichido/transactions";
import { expect, test } from "vitest";

test("transactions back to back on the store's own handle leave it its turns", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ichido-turns-"));
  const database = new DatabaseSync(join(folder, "shop.db"));
  const store = sqliteStore(database, { lockTimeoutMs: 1_000 });
  await store.migrate();
  database.exec("CREATE TABLE orders (id integer PRIMARY KEY)");
  const runner = nodeSqliteTransactions(database);
  let going = true;
  let orders = 0;
  const queues = Array.from({ length: 4 }, async () => {
    while (going) {
      await runner.run(async (_tx, handle) => {
        await sleep(8);
        await handle.execute("INSERT INTO orders DEFAULT VALUES", []);
      });
      orders += 1;
    }
  });
  for (let ping = 0; ping < 20; ping += 1) await store.ping();
  going = false;
  await Promise.all(queues);
  expect(orders).toBeGreaterThan(0);
  await store.close();
  database.close();
  rmSync(folder, { recursive: true, force: true });
});

test("BEGIN waits for another connection's write from the event loop, and gives up in the end", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ichido-turns-"));
  const file = join(folder, "shop.db");
  const other = new DatabaseSync(file);
  other.exec("PRAGMA journal_mode = WAL");
  other.exec("CREATE TABLE orders (id integer PRIMARY KEY)");
  const database = new DatabaseSync(file);
  const add = (lockTimeoutMs: number): Promise<unknown> =>
    nodeSqliteTransactions(database, { lockTimeoutMs }).run((_tx, handle) =>
      handle.execute("INSERT INTO orders DEFAULT VALUES", []),
    );
  other.exec("BEGIN IMMEDIATE");
  const waiting = add(5_000);
  let beats = 0;
  for (; beats < 5; beats += 1) await sleep(5);
  other.exec("COMMIT");
  await waiting;
  other.exec("BEGIN IMMEDIATE");
  await expect(add(30)).rejects.toThrow(/locked/);
  other.exec("COMMIT");
  await add(30);
  expect(database.prepare("SELECT count(*) AS n FROM orders").get()).toEqual({ n: 2 });
  database.close();
  other.close();
  rmSync(folder, { recursive: true, force: true });
});
