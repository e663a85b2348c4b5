import type { ClaimRequest, CompleteRequest } from "ichido";
import { sqliteStore } from "ichido/sqlite";
import type { SqliteStore } from "ichido/sqlite";
import { sampleIdentity, sampleResponse } from "ichido/testing";
import { fromBetterSqlite3, fromNodeSqlite } from "ichido/transactions";
import type { TransactionHandle } from "ichido/transactions";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { grant, request } from "./postgres-life.ts";
import { drivers, temporaryFile } from "./sqlite-files.ts";
import type { OpenDatabase } from "./sqlite-files.ts";

const handles = {
  "node:sqlite": (database: OpenDatabase) => fromNodeSqlite(database as never),
  "better-sqlite3": (database: OpenDatabase) => fromBetterSqlite3(database as never),
} as const satisfies Record<keyof typeof drivers, (database: OpenDatabase) => TransactionHandle>;

/** As transaction mode does it. */
async function begun(store: SqliteStore, handle: TransactionHandle, asked: ClaimRequest): Promise<CompleteRequest> {
  const granted = await store.claim(asked, handle);
  if (granted.outcome !== "granted") throw new Error(granted.outcome);
  const { identity, owner } = asked;
  return { identity, owner, fence: granted.fence, response: sampleResponse() };
}

describe.each(Object.keys(drivers) as (keyof typeof drivers)[])("sqlite on %s, in the caller's transaction", (name) => {
  const file = temporaryFile();
  let database: OpenDatabase;
  let second: OpenDatabase;
  let store: SqliteStore;
  let other: SqliteStore;
  beforeAll(async () => {
    database = drivers[name](file.path);
    second = drivers[name](file.path);
    second.exec("PRAGMA busy_timeout = 0");
    store = sqliteStore(database);
    other = sqliteStore(second);
    await store.migrate();
  });
  afterAll(async () => {
    await Promise.all([store.close(), other.close()]);
    database.close();
    second.close();
    file.remove();
  });

  it("what a transaction leaves is what a claim and a completion by themselves leave", async () => {
    const labels = { order: "o 1", shop: "北" };
    const twoSteps = await grant(store, request("twice", "a", { labels }));
    await store.complete({ ...twoSteps, response: sampleResponse() });
    database.exec("BEGIN");
    const handle = handles[name](database);
    expect(await store.complete(await begun(store, handle, request("whole", "a", { labels })), handle)).toBe("ok");
    database.exec("COMMIT");
    const [twice, whole] = await Promise.all(["twice", "whole"].map((key) => store.find(sampleIdentity(key))));
    const timeless = { identity: undefined, fence: 0, createdAtMs: 0, updatedAtMs: 0, expiresAtMs: 0 };
    expect({ ...whole, ...timeless }).toEqual({ ...twice, ...timeless });
    expect(whole?.fence).toBeGreaterThanOrEqual(twice?.fence ?? Number.POSITIVE_INFINITY);
    expect((whole?.expiresAtMs ?? 0) - (whole?.createdAtMs ?? 0)).toBe(86_400_000);
    const found = await store.list({ label: { name: "shop", value: "北" }, limit: 10 });
    expect(found.records.map(({ identity }) => identity.key).toSorted()).toEqual(["twice", "whole"]);
  });

  it("S1 a transaction that only began has the file to itself once it has asked, so nobody else is granted the key", async () => {
    database.exec("BEGIN");
    second.exec("BEGIN");
    const completing = await begun(store, handles[name](database), request("one", "a"));
    expect((await other.claim(request("one", "b"), handles[name](second))).outcome).toBe("processing");
    second.exec("ROLLBACK");
    expect(await store.complete(completing, handles[name](database))).toBe("ok");
    database.exec("COMMIT");
    second.exec("BEGIN");
    expect((await other.claim(request("one", "b"), handles[name](second))).outcome).toBe("completed");
    second.exec("ROLLBACK");
  });

  it("S1 a claim that is rolled back was never there, and writes nothing while it waits", async () => {
    database.exec("BEGIN IMMEDIATE");
    await begun(store, handles[name](database), request("never", "a"));
    database.exec("ROLLBACK");
    expect(await store.find(sampleIdentity("never"))).toBeUndefined();
  });

  it("S6 the fence of a record that is written whole is greater than any that was deleted", async () => {
    const aheadUs = (Date.now() + 3_600_000) * 1_000;
    database.exec(`UPDATE ichido_fence SET floor = ${aheadUs}`);
    database.exec("BEGIN IMMEDIATE");
    const handle = handles[name](database);
    const completing = await begun(store, handle, request("ahead", "a"));
    expect(completing.fence).toBe(aheadUs + 1);
    await store.complete(completing, handle);
    database.exec("COMMIT");
    const record = await store.find(sampleIdentity("ahead"));
    expect(record?.fence).toBe(aheadUs + 1);
    expect(Math.abs((record?.createdAtMs ?? 0) - Date.now())).toBeLessThan(60_000);
    database.exec("UPDATE ichido_fence SET floor = 0");
  });
});
