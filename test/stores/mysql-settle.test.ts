/** Decisions on a record that a process keeps locked, which stands still in its transaction. */
import { setTimeout as sleep } from "node:timers/promises";
import { mysqlStore } from "ichido/mysql";
import { sampleResponse } from "ichido/testing";
import mysql2 from "mysql2/promise";
import { expect, onTestFinished, test } from "vitest";
import { describeWith } from "../support/services.ts";
import { completed, openBed } from "./mysql-bed.ts";
import { granted, request } from "./mysql-life.ts";

const callTimeoutMs = 600;
const person = { actor: "ann", reason: "r" };

describeWith("mariadb", "a decision that was told to have failed", (url) => {
  async function setUp() {
    const { database, client } = await openBed(url);
    const frozen = await mysql2.createConnection(database.url);
    onTestFinished(() => frozen.end());
    return { client, frozen, store: mysqlStore(client.pool, { callTimeoutMs }) };
  }

  async function lock(frozen: mysql2.Connection): Promise<void> {
    await frozen.query("begin");
    await frozen.query("update ichido_records set updated_us = updated_us + 1");
  }

  test.each(["release", "adopt"] as const)("S16 to %s does not win over the hold made after it", async (kind) => {
    const { store, frozen } = await setUp();
    const { identity, fence } = await granted(store, request("key", "a", { leaseMs: 50 }));
    await sleep(100);
    await lock(frozen);
    const decision = kind === "adopt" ? { kind, response: sampleResponse() } : { kind };
    await expect(store.settle({ identity, fence, decision, ...person })).rejects.toMatchObject({
      code: "store-unavailable",
    });
    const hold = store.settle({ identity, fence, decision: { kind: "hold" }, ...person });
    await sleep(100);
    await frozen.query("rollback");
    expect(await hold).toBe("ok");
    await sleep(100);
    expect(await store.find(identity)).toMatchObject({ state: "unknown", holdReason: "r", fence });
    expect((await store.audit(identity)).map(({ action }) => action)).toEqual(["hold"]);
  });

  test("S24 to forget does not take effect after that", async () => {
    const { client, store, frozen } = await setUp();
    const claim = await completed(store, "key", "a");
    await lock(frozen);
    await expect(store.forget({ ...claim, ...person })).rejects.toMatchObject({ code: "store-unavailable" });
    const waiting =
      "select 1 from information_schema.processlist where info like '%update ichido_records r join%' and info not like '%processlist%'";
    expect(await client.rows(waiting)).toEqual([]);
    await frozen.query("rollback");
    await sleep(100);
    expect((await store.find(claim.identity))?.response?.kind).toBe("full");
  });
});
