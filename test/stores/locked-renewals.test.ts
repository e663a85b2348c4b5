/** A transaction of somebody else holds a record for longer than a lease, while its handler works. */
import { createIchido, type Store } from "ichido";
import { mysqlStore } from "ichido/mysql";
import { postgresStore } from "ichido/postgres";
import mysql2 from "mysql2/promise";
import { expect, onTestFinished, test } from "vitest";
import { describeWith, freshDatabase } from "../support/services.ts";
import { migrated, openClient } from "./mysql-clients.ts";
import { openLife } from "./postgres-life.ts";

const leaseMs = 3_000;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Effects of a handler that looks at its signal right before its own, and of a retry elsewhere. */
async function effectsOf(stores: readonly [Store, Store], lock: () => Promise<() => Promise<unknown>>) {
  const effects: string[] = [];
  const request = { operation: "mail.send", scope: { tenant: "acme" }, key: "k-1", input: { to: 1 } };
  const [first, second] = stores.map((store) => {
    const ichido = createIchido({ store, leaseMs, onUnknown: "rerun", scope: () => ({}) });
    onTestFinished(() => ichido.close());
    return (name: string, ms: number): Promise<unknown> =>
      ichido
        .run(request, async ({ signal }) => {
          await pause(ms);
          if (!signal.aborted) effects.push(name);
        })
        .catch(() => undefined);
  });
  const working = first?.("first", leaseMs * 1.6);
  await pause(100);
  const unlock = await lock();
  await pause(leaseMs * 1.3);
  const again = second?.("second", 0);
  await pause(200);
  await unlock();
  await Promise.all([working, again]);
  return effects;
}

const sql = "select * from ichido_records for update";

describeWith("postgres", "a record that is locked for longer than its lease", (url) => {
  test("I7 has one attempt that counts on it", { timeout: 40_000 }, async () => {
    const life = await openLife(url);
    onTestFinished(() => life.end());
    const stores = [postgresStore(life.newPool()), postgresStore(life.newPool())] as const;
    for (const each of stores) onTestFinished(() => each.close());
    const locker = await life.newPool({ max: 1 }).connect();
    const effects = await effectsOf(stores, async () => {
      await locker.query("begin");
      await locker.query(sql);
      return async () => {
        await locker.query("rollback");
        locker.release();
      };
    });
    expect(effects).toEqual(["second"]);
  });
});

describeWith("mariadb", "a record that is locked for longer than its lease", (url) => {
  test("I7 has one attempt that counts on it", { timeout: 40_000 }, async () => {
    const database = await freshDatabase(url);
    onTestFinished(() => database.drop());
    const client = openClient("mysql2", database.url);
    onTestFinished(() => client.end());
    await migrated(client);
    const locker = await mysql2.createConnection(database.url);
    onTestFinished(() => locker.end());
    const effects = await effectsOf([mysqlStore(client.pool), mysqlStore(client.pool)], async () => {
      await locker.query("begin");
      await locker.query(sql);
      return () => locker.query("rollback");
    });
    expect(effects).toEqual(["second"]);
  });
});
