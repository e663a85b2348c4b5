/** A sweeper that stands still between two statements. */
import { mysqlStore, type MysqlStore } from "ichido/mysql";
import { sampleResponse } from "ichido/testing";
import { expect, test } from "vitest";
import { describeWith } from "../support/services.ts";
import { openBed, pastRetention } from "./mysql-bed.ts";
import { intercepted, standing, trustClock, withMovedClock } from "./mysql-clients.ts";
import { granted, request } from "./mysql-life.ts";

const dayMs = 86_400_000;
const short = { retentionMs: 400, leaseMs: 100 };
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
});
