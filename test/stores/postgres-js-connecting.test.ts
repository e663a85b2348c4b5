/**
 * postgres.js gives the first statement for a connection to that connection while it is being made. Withdrawn there by
 * `cancel()`, it is not sent, and the driver never learns that the connection is free (postgres 3.4): one by one all
 * connections of the pool would go that way.
 */
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgresStore } from "ichido/postgres";
import { createFaultProxy } from "ichido/testing";
import type { FaultProxy } from "ichido/testing";
import { postgresUrl } from "../support/services.ts";
import { openLife, request } from "./postgres-life.ts";
import type { Life } from "./postgres-life.ts";

const callTimeoutMs = 300;
const serverUrl = await postgresUrl();

describe("postgres on postgres.js, while connections are being made", () => {
  let life: Life;
  let proxy: FaultProxy;
  let sql: postgres.Sql;
  beforeAll(async () => {
    life = await openLife(serverUrl);
    proxy = await createFaultProxy({ target: life.url });
    sql = postgres(proxy.url, { max: 2, connect_timeout: 30, onnotice: () => undefined });
  });
  afterAll(async () => {
    await sql.end({ timeout: 1 });
    await proxy.close();
    await life.end();
  });

  it("a call that gave up leaves its connection to the next one, and is not made late", async () => {
    const store = postgresStore(sql, { callTimeoutMs });
    proxy.faults({ toClient: { stall: true } });
    const late = [1, 2, 3, 4].map((number) => request(`late-${number}`, `late-${number}`));
    for (const each of late) await expect(store.claim(each)).rejects.toThrow();
    proxy.faults({});
    const patient = postgresStore(sql, { callTimeoutMs: 10_000 });
    const next = await patient.claim(request("next", "next"));
    expect(next.outcome).toBe("granted");
    for (const { identity } of late) expect(await patient.find(identity)).toBeUndefined();
  });
});
