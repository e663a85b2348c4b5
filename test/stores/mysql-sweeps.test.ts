/** A sweeper that stands still between two statements, or dies there. */
import { mysqlStore, type MysqlStore } from "ichido/mysql";
import { sampleResponse } from "ichido/testing";
import { expect, test } from "vitest";
import { describeWith } from "../support/services.ts";
import { completed, keysByLabel, openBed, pastRetention } from "./mysql-bed.ts";
import { dying, intercepted, standing, trustClock, withMovedClock } from "./mysql-clients.ts";
import { granted, request } from "./mysql-life.ts";

const dayMs = 86_400_000;
const short = { retentionMs: 400, leaseMs: 100, labels: { order: "7" } };
const bounds = { limit: 10, budgetMs: 1_000 };

describeWith("mariadb", "sweeps", (url) => {
  /** With a step that has its result. */
  async function stepped(store: MysqlStore, owner: string, changes: Parameters<typeof request>[2]) {
    const claim = await granted(store, request("key", owner, changes));
    const step = { ...claim, name: "charge", leaseMs: 30_000 };
    await store.startStep(step);
    await store.finishStep({ ...step, result: new Uint8Array([1]) });
    await store.complete({ ...claim, response: sampleResponse() });
    return claim;
  }

  /** With another key. */
  async function pair(store: MysqlStore, claim: Awaited<ReturnType<typeof granted>>): Promise<void> {
    const other = await completed(store, "other", "c");
    const ran = { agoMs: 0, tookMs: 1, keepMs: dayMs, outcome: "executed", canonical: new Uint8Array(32) } as const;
    const notes = [claim, other].map(({ identity }, index) => ({ ...ran, identity, number: index + 1 }));
    expect((await store.log({ process: "p", suspectWithinMs: 60_000, notes })).pairs).toHaveLength(1);
  }

  test("S10 a clock that leaps ahead after the ticks were looked at removes no answer before its time", async () => {
    const { client, store } = await openBed(url);
    await stepped(store, "a", { retentionMs: dayMs });
    await trustClock(client);
    const clock = { nowMs: Date.now() };
    const leaping = intercepted(withMovedClock(client.pool, clock), (sql) => {
      if (sql.includes("as with_steps")) clock.nowMs += 2 * dayMs;
    });
    expect(await mysqlStore(leaping).sweep(bounds)).toMatchObject({ deleted: 0, guarded: false });
    expect((await store.claim(request("key", "b"))).outcome).toBe("completed");
  });

  test("S10 a clock that leaps ahead after records were picked removes none that runs as new since then", async () => {
    const { client, store } = await openBed(url);
    await stepped(store, "a", short);
    await pastRetention(client);
    const clock = { nowMs: Date.now() };
    const slow = standing(withMovedClock(client.pool, clock), /^delete \w from/);
    const sweeping = mysqlStore(slow.pool, { callTimeoutMs: 30_000 }).sweep(bounds);
    await slow.reached;
    const { identity } = await stepped(store, "b", { retentionMs: dayMs });
    clock.nowMs += 2 * dayMs;
    slow.goOn();
    expect((await sweeping).deleted).toBe(0);
    expect(await store.steps(identity)).toHaveLength(1);
    expect((await store.claim(request("key", "c"))).outcome).toBe("completed");
  });

  test("S11, S17 labels and pairs of a record that runs as new since it was picked stay", async () => {
    const { client, store } = await openBed(url);
    await completed(store, "key", "a", short);
    await pastRetention(client);
    const slow = standing(client.pool, /^delete \w from/);
    const sweeping = mysqlStore(slow.pool, { callTimeoutMs: 30_000 }).sweep(bounds);
    await slow.reached;
    const second = await completed(store, "key", "b", { labels: short.labels });
    expect(second.origin).toBe("new");
    await pair(store, second);
    slow.goOn();
    expect((await sweeping).deleted).toBe(0);
    expect(await keysByLabel(store, "order", "7")).toEqual(["key"]);
    expect(await store.twins(second.identity)).toHaveLength(1);
  });

  test.each(["before", "after"] as const)(
    "S20, S22, S25 nothing that hung on a record stays for good where its sweeper died right %s it removed the record",
    async (when) => {
      const { client, store } = await openBed(url);
      const first = await granted(store, request("key", "a", short));
      await store.complete({ ...first, response: sampleResponse(), resources: [{ kind: "charge", id: "ch_1" }] });
      await pair(store, first);
      await pastRetention(client);
      await expect(mysqlStore(dying(client.pool, /^delete r from/, when)).sweep(bounds)).rejects.toThrow();
      await store.sweep(bounds);
      expect(await store.find(first.identity)).toBeUndefined();
      expect(await client.rows("select 1 from ichido_labels")).toEqual([]);
      expect(await client.rows("select 1 from ichido_resources")).toEqual([]);
      expect(await client.rows("select 1 from ichido_twins")).toEqual([]);
    },
  );
});
