/** Completion together with the user's own writes. */
import mysql2 from "mysql2/promise";
import { mysqlStore } from "ichido/mysql";
import { sampleResponse } from "ichido/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { describeWith, freshDatabase } from "../support/services.ts";
import type { FreshDatabase } from "../support/services.ts";
import { emptyTables, migrated, openClient } from "./mysql-clients.ts";
import type { Client } from "./mysql-clients.ts";
import { granted, request } from "./mysql-life.ts";

type Handle = NonNullable<Parameters<ReturnType<typeof mysqlStore>["complete"]>[1]>;

/** What `ichido/transactions` makes of a connection, in its barest form. */
function handleOf(connection: mysql2.Connection): Handle {
  return {
    dialect: "mysql",
    async execute(sql, values) {
      const [answer] = await connection.query(sql, values as unknown[]);
      if (Array.isArray(answer)) return { rows: answer as Record<string, unknown>[], affected: 0 };
      return { rows: [], affected: answer.affectedRows };
    },
  };
}

describeWith("mariadb", "mysql store in the user's transaction", (url) => {
  let database: FreshDatabase;
  let client: Client;
  let store: ReturnType<typeof mysqlStore>;
  let connection: mysql2.Connection;
  beforeAll(async () => {
    database = await freshDatabase(url);
    client = openClient("mysql2", database.url);
    store = await migrated(client);
    await client.rows("create table payments (id int primary key) engine = InnoDB");
    const at = new URL(database.url);
    connection = await mysql2.createConnection({
      host: at.hostname,
      port: Number(at.port),
      user: at.username,
      database: database.name,
    });
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
    await connection.beginTransaction();
    await connection.query("insert into payments values (1)");
    expect(await store.complete({ ...claim, response: sampleResponse() }, handleOf(connection))).toBe("ok");
    expect([(await store.find(claim.identity))?.state, await payments()]).toEqual(["processing", 0]);
    await connection.commit();
    expect([(await store.find(claim.identity))?.state, await payments()]).toEqual(["completed", 1]);
  });

  test("S7 both vanish together on rollback, and the owner still owns", async () => {
    const claim = await granted(store, request("key", "a"));
    await connection.beginTransaction();
    await connection.query("insert into payments values (1)");
    expect(await store.complete({ ...claim, response: sampleResponse() }, handleOf(connection))).toBe("ok");
    await connection.rollback();
    expect([(await store.find(claim.identity))?.state, await payments()]).toEqual(["processing", 0]);
    expect(await store.complete({ ...claim, response: sampleResponse() })).toBe("ok");
  });

  test("S5 an owner that was overtaken is stale in its transaction, although its snapshot shows it as the owner", async () => {
    const claim = await granted(store, request("key", "a"));
    await connection.beginTransaction();
    const [rows] = await connection.query("select owner from ichido_records");
    expect(rows).toHaveLength(1);
    await store.suspend(claim);
    await granted(store, request("key", "b"));
    expect(await store.complete({ ...claim, response: sampleResponse() }, handleOf(connection))).toBe("stale");
    await connection.rollback();
  });

  test("S7 completing again is ok in a transaction whose snapshot is older than the first completion", async () => {
    const claim = await granted(store, request("key", "a"));
    await connection.beginTransaction();
    await connection.query("select owner from ichido_records");
    expect(await store.complete({ ...claim, response: sampleResponse() })).toBe("ok");
    expect(await store.complete({ ...claim, response: sampleResponse({ status: 500 }) }, handleOf(connection))).toBe(
      "ok",
    );
    await connection.rollback();
    expect((await store.find(claim.identity))?.response?.status).toBe(201);
  });

  test("S4 a takeover waits for the owner's open transaction and then finds its answer", async () => {
    const claim = await granted(store, request("key", "a", { leaseMs: 50 }));
    await connection.beginTransaction();
    expect(await store.complete({ ...claim, response: sampleResponse() }, handleOf(connection))).toBe("ok");
    await new Promise((resolve) => setTimeout(resolve, 80));
    const next = store.claim(request("key", "b"));
    await new Promise((resolve) => setTimeout(resolve, 100));
    await connection.commit();
    expect((await next).outcome).toBe("completed");
  });

  test("another dialect's transaction is refused, and so is a claim inside one", async () => {
    const claim = await granted(store, request("key", "a"));
    const foreign = { ...handleOf(connection), dialect: "postgres" as const };
    const completing = store.complete({ ...claim, response: sampleResponse() }, foreign);
    await expect(completing).rejects.toMatchObject({ code: "option-invalid" });
    await expect(store.claim(request("b", "b"), handleOf(connection))).rejects.toMatchObject({
      code: "option-invalid",
    });
  });
});
