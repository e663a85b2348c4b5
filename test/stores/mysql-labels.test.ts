/** A process that dies between its claim and the rows by which completed records are found by label. */
import { mysqlStore, type MysqlStore } from "ichido/mysql";
import { sampleResponse } from "ichido/testing";
import { expect, test } from "vitest";
import { describeWith } from "../support/services.ts";
import { completed, keysByLabel, openBed, pastRetention } from "./mysql-bed.ts";
import { dying, losing } from "./mysql-clients.ts";
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

describeWith("mariadb", "labels of a life that is over", (url) => {
  const bounds = { limit: 10, budgetMs: 1_000 };

  async function expectGone({ client, store }: Awaited<ReturnType<typeof openBed>>): Promise<void> {
    await pastRetention(client);
    await store.sweep(bounds);
    expect(await client.rows("select count(*) as n from ichido_records")).toMatchObject([{ n: 0 }]);
    expect(await client.rows("select count(*) as n from ichido_labels")).toMatchObject([{ n: 0 }]);
  }

  const short = { retentionMs: 400, leaseMs: 100 };

  async function expired() {
    const bed = await openBed(url);
    await completed(bed.store, "key", "a", { ...short, labels: { customer: "42" } });
    await pastRetention(bed.client);
    return bed;
  }

  test.each([/delete (l )?from ichido_labels/, /^update ichido_records set/, /insert into ichido_labels/])(
    "S25 go with it, though the process that runs its key as new died before %s",
    async (statement) => {
      const bed = await expired();
      const dead = mysqlStore(dying(bed.client.pool, statement));
      await expect(dead.claim(request("key", "b", { ...short, labels: { customer: "43" } }))).rejects.toThrow();
      await new Promise((resolve) => setTimeout(resolve, 150));
      await expectGone(bed);
    },
  );

  test("S25 go with it, though the reply to that claim was lost", async () => {
    const bed = await expired();
    const { pool, lost } = losing(bed.client.pool, /life = greatest/);
    const claim = await granted(mysqlStore(pool), request("key", "b", { ...short, labels: { customer: "43" } }));
    expect([lost(), claim.origin]).toEqual([1, "new"]);
    await bed.store.release(claim);
    await expectGone(bed);
  });
});
