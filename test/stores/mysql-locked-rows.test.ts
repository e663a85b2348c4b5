/**
 * A process that stands still between a completion on its own transaction and COMMIT keeps its record locked. What others
 * of the store do meanwhile for many records at once, heartbeat and log, must cost no other record its lease.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { mysqlStore, type MysqlStore } from "ichido/mysql";
import { sampleResponse } from "ichido/testing";
import { fromMysql2 } from "ichido/transactions";
import mysql2 from "mysql2/promise";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { describeWith, freshDatabase, type FreshDatabase } from "../support/services.ts";
import { drivers, migrated, openClient, type Client } from "./mysql-clients.ts";
import { granted, request } from "./mysql-life.ts";

const leaseMs = 30_000;
const callTimeoutMs = 2_000;

describeWith("mariadb", "records beside a locked one", (url) => {
  let database: FreshDatabase;
  beforeAll(async () => {
    database = await freshDatabase(url);
    const client = openClient("mysql2", database.url);
    await migrated(client);
    await client.end();
  });
  afterAll(() => database.drop());

  /** The record is locked until the test ends. */
  async function lock(store: MysqlStore, key: string) {
    const claim = await granted(store, request(key, key));
    const { hostname, port, username, password, pathname } = new URL(database.url);
    const address = {
      host: hostname,
      port: Number(port),
      user: decodeURIComponent(username),
      database: pathname.slice(1),
    };
    const connection = await mysql2.createConnection({ ...address, password: decodeURIComponent(password) });
    onTestFinished(() => connection.end());
    await connection.beginTransaction();
    expect(await store.complete({ ...claim, response: sampleResponse() }, fromMysql2(connection))).toBe("ok");
    return claim;
  }

  async function leaseLeft(store: MysqlStore, { identity }: Pick<Awaited<ReturnType<typeof granted>>, "identity">) {
    return (await store.find(identity))?.leaseLeftMs ?? 0;
  }

  test.each(drivers)("S5 through %s: a heartbeat renews all leases but the locked one, at once", async (driver) => {
    const client: Client = openClient(driver, database.url);
    onTestFinished(() => client.end());
    const store = mysqlStore(client.pool, { callTimeoutMs });
    const names = Array.from({ length: 9 }, (_, index) => `${driver}-${index}`);
    const claims = [];
    for (const name of names) claims.push(await granted(store, request(name, name)));
    claims.splice(4, 0, await lock(store, `${driver}-3-locked`), await lock(store, `${driver}-3-locked-too`));
    const lost = { ...(claims[0] ?? expect.fail()), fence: 1 };
    await sleep(200);
    const renewed = await store.renew([...claims, lost].map((claim) => ({ ...claim, leaseMs: 2 * leaseMs })));
    const isLocked = (index: number): boolean => index === 4 || index === 5;
    expect(renewed).toEqual([...claims.map((_, index) => (isLocked(index) ? "locked" : "ok")), "stale"]);
    const left = await Promise.all(claims.map((claim) => leaseLeft(store, claim)));
    const isRenewed = left.map((leftMs) => leftMs > leaseMs);
    expect(isRenewed).toEqual(claims.map((_, index) => !isLocked(index)));
  });

  test("S21 a note about the locked record locks no other record, and leaves nothing behind on the server", async () => {
    const client = openClient("mysql2", database.url);
    onTestFinished(() => client.end());
    const store = mysqlStore(client.pool, { callTimeoutMs });
    const other = await granted(store, request("a-noted", "noted"));
    const frozen = await lock(store, "b-locked");
    const note = { outcome: "in_progress", agoMs: 1, tookMs: 1, keepMs: 86_400_000 } as const;
    const notes = [other, frozen].map(({ identity }, index) => ({ ...note, number: index + 1, identity }));
    await store.log({ process: "p", suspectWithinMs: 0, notes });
    expect((await store.attempts(frozen.identity)).map(({ outcome }) => outcome)).toEqual(["in_progress"]);
    expect(await store.complete({ ...other, response: sampleResponse() })).toBe("ok");
  });
});
