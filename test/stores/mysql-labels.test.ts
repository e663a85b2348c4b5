/** A process that dies between its claim and the rows by which completed records are found by label. */
import { mysqlStore, type MysqlStore } from "ichido/mysql";
import { sampleResponse } from "ichido/testing";
import { expect, test } from "vitest";
import { describeWith } from "../support/services.ts";
import { keysByLabel, openBed } from "./mysql-bed.ts";
import { dying } from "./mysql-clients.ts";
import { granted, request } from "./mysql-life.ts";

const labels = { order: "7" };

describeWith("mariadb", "a record whose claimant died before its labels were written", (url) => {
  async function lapsed() {
    const { client, store } = await openBed(url);
    const dead = mysqlStore(dying(client.pool, /insert into ichido_labels/));
    await expect(dead.claim(request("key", "a", { labels, leaseMs: 50 }))).rejects.toThrow();
    await new Promise((resolve) => setTimeout(resolve, 120));
    expect(await keysByLabel(store, "order", "7")).toEqual(["key"]);
    return store;
  }

  async function expectFound(store: MysqlStore): Promise<void> {
    const record = await store.find(request("key", "b").identity);
    expect([record?.state, record?.labels]).toEqual(["completed", labels]);
    expect(await keysByLabel(store, "order", "7")).toEqual(["key"]);
  }

  test("S17, S25 is found by them once it was taken over and completed", async () => {
    const store = await lapsed();
    const second = await granted(store, request("key", "b", { labels }));
    expect(second.origin).toBe("lapsed");
    await store.complete({ ...second, response: sampleResponse() });
    await expectFound(store);
  });

  test("S17, S25 is found by them once a person gave its answer", async () => {
    const store = await lapsed();
    const { identity } = request("key", "b");
    const fence = (await store.find(identity))?.fence ?? 0;
    const decision = { kind: "adopt", response: sampleResponse() } as const;
    expect(await store.settle({ identity, fence, decision, actor: "ann", reason: "looked" })).toBe("ok");
    await expectFound(store);
  });
});
