/** Completion together with the user's own writes. */
import mariadb from "mariadb";
import mysql2 from "mysql2/promise";
import { mysqlStore } from "ichido/mysql";
import { sampleResponse } from "ichido/testing";
import { fromMariadb, fromMysql2 } from "ichido/transactions";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { describeWith, freshDatabase } from "../support/services.ts";
import type { FreshDatabase } from "../support/services.ts";
import { drivers, emptyTables, migrated, openClient } from "./mysql-clients.ts";
import type { Client, Driver } from "./mysql-clients.ts";
import { granted, request } from "./mysql-life.ts";

type Handle = NonNullable<Parameters<ReturnType<typeof mysqlStore>["complete"]>[1]>;

interface Connected {
  query(sql: string): Promise<unknown>;
  begin(): Promise<Handle>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
  end(): Promise<void>;
}

async function connect(driver: Driver, url: string): Promise<Connected> {
  const at = new URL(url);
  const where = { host: at.hostname, port: Number(at.port), user: at.username, database: at.pathname.slice(1) };
  const common = (connection: { commit(): Promise<void>; rollback(): Promise<void>; end(): Promise<void> }) => ({
    commit: () => connection.commit(),
    rollback: () => connection.rollback(),
    end: () => connection.end(),
  });
  if (driver === "mysql2") {
    const connection = await mysql2.createConnection(where);
    const begin = async (): Promise<Handle> => (await connection.beginTransaction(), fromMysql2(connection));
    return { ...common(connection), query: (sql) => connection.query(sql), begin };
  }
  const connection = await mariadb.createConnection(where);
  const begin = async (): Promise<Handle> => (await connection.beginTransaction(), fromMariadb(connection));
  return { ...common(connection), query: (sql) => connection.query(sql), begin };
}

for (const driver of drivers)
  describeWith("mariadb", `mysql store in the user's transaction on ${driver}`, (url) => {
    let database: FreshDatabase;
    let client: Client;
    let store: ReturnType<typeof mysqlStore>;
    let connection: Connected;
    beforeAll(async () => {
      database = await freshDatabase(url);
      client = openClient("mysql2", database.url);
      store = await migrated(client);
      await client.rows("create table payments (id int primary key) engine = InnoDB");
      connection = await connect(driver, database.url);
    });
    afterAll(async () => {
      await connection.end();
      await client.end();
      await database.drop();
    });
    beforeEach(async () => {
      await emptyTables(client);
      await client.rows("delete from payments");
    });
    const payments = async (): Promise<number> => (await client.rows("select id from payments")).length;

    test("S7 completion and business write appear together at commit, and not before", async () => {
      const claim = await granted(store, request("key", "a"));
      const handle = await connection.begin();
      await connection.query("insert into payments values (1)");
      expect(await store.complete({ ...claim, response: sampleResponse() }, handle)).toBe("ok");
      expect([(await store.find(claim.identity))?.state, await payments()]).toEqual(["processing", 0]);
      await connection.commit();
      expect([(await store.find(claim.identity))?.state, await payments()]).toEqual(["completed", 1]);
    });

    test("S7 both vanish together on rollback, and the owner still owns", async () => {
      const claim = await granted(store, request("key", "a"));
      const handle = await connection.begin();
      await connection.query("insert into payments values (1)");
      expect(await store.complete({ ...claim, response: sampleResponse() }, handle)).toBe("ok");
      await connection.rollback();
      expect([(await store.find(claim.identity))?.state, await payments()]).toEqual(["processing", 0]);
      expect(await store.complete({ ...claim, response: sampleResponse() })).toBe("ok");
    });

    test("S5 an owner that was overtaken is stale in its transaction, although its snapshot shows it as the owner", async () => {
      const claim = await granted(store, request("key", "a"));
      const handle = await connection.begin();
      await connection.query("select owner from ichido_records");
      await store.suspend(claim);
      await granted(store, request("key", "b"));
      expect(await store.complete({ ...claim, response: sampleResponse() }, handle)).toBe("stale");
      await connection.rollback();
    });

    test("S7 completing again is ok in a transaction whose snapshot is older than the first completion", async () => {
      const claim = await granted(store, request("key", "a"));
      const handle = await connection.begin();
      await connection.query("select owner from ichido_records");
      expect(await store.complete({ ...claim, response: sampleResponse() })).toBe("ok");
      expect(await store.complete({ ...claim, response: sampleResponse({ status: 500 }) }, handle)).toBe("ok");
      await connection.rollback();
      expect((await store.find(claim.identity))?.response?.status).toBe(201);
    });

    test("S4 a takeover waits for the owner's open transaction and then finds its answer", async () => {
      const claim = await granted(store, request("key", "a", { leaseMs: 50 }));
      const handle = await connection.begin();
      expect(await store.complete({ ...claim, response: sampleResponse() }, handle)).toBe("ok");
      await new Promise((resolve) => setTimeout(resolve, 80));
      const next = store.claim(request("key", "b"));
      await new Promise((resolve) => setTimeout(resolve, 100));
      await connection.commit();
      expect((await next).outcome).toBe("completed");
    });

    test("S20 what transactions made side by side is told by each: none waits for another, and none is undone for it", async () => {
      const others = await Promise.all(Array.from({ length: 3 }, () => connect(driver, database.url)));
      const all = [connection, ...others];
      try {
        for (let round = 0; round < 5; round += 1) {
          const keys = all.map((_, at) => `key-${round}-${at}`);
          const claims = await Promise.all(keys.map((key) => granted(store, request(key, key))));
          const handles: Handle[] = [];
          for (const each of all) handles.push(await each.begin());
          // All of them first look, then write, before the first commits.
          const told = await Promise.all(
            claims.map((claim, at) =>
              store.complete(
                { ...claim, response: sampleResponse(), resources: [{ kind: "order", id: `o-${round}-${at}` }] },
                handles[at],
              ),
            ),
          );
          expect(told).toEqual(all.map(() => "ok"));
          for (const each of all) await each.commit();
          const made = await Promise.all(claims.map(({ identity }) => store.resources(identity)));
          expect(made).toEqual(all.map((_, at) => [{ kind: "order", id: `o-${round}-${at}` }]));
        }
      } finally {
        await Promise.all(others.map((each) => each.end()));
      }
    }, 60_000);

    test("another dialect's transaction is refused, and so is a claim inside one", async () => {
      const claim = await granted(store, request("key", "a"));
      const handle = await connection.begin();
      const foreign = { ...handle, dialect: "postgres" as const };
      const completing = store.complete({ ...claim, response: sampleResponse() }, foreign);
      await expect(completing).rejects.toMatchObject({ code: "usage-invalid" });
      await expect(store.claim(request("b", "b"), handle)).rejects.toMatchObject({
        code: "usage-invalid",
      });
    });
  });
