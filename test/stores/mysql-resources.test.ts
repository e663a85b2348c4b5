/** An owner that stands still while it tells what it made, and has lost the record when it goes on. */
import { mysqlStore } from "ichido/mysql";
import { sampleResponse } from "ichido/testing";
import { expect, test } from "vitest";
import { describeWith } from "../support/services.ts";
import { openBed } from "./mysql-bed.ts";
import { standing } from "./mysql-clients.ts";
import { granted, request } from "./mysql-life.ts";

const told = [{ kind: "charge", id: "ch_1" }];
const made = [{ kind: "charge", id: "ch_2" }];

describeWith("mariadb", "what a stale owner tells", (url) => {
  async function takenFrom(verb: "complete" | "startStep") {
    const { client, store } = await openBed(url);
    const slow = standing(client.pool, /insert ignore into ichido_resources/);
    const former = mysqlStore(slow.pool, { callTimeoutMs: 30_000 });
    const first = await granted(former, request("key", "a", { leaseMs: 50 }));
    const asked = { ...first, name: "charge", leaseMs: 50, response: sampleResponse(), resources: told };
    const late = former[verb](asked);
    await slow.reached;
    await new Promise((resolve) => setTimeout(resolve, 120));
    const second = await granted(store, request("key", "b"));
    await store.complete({ ...second, response: sampleResponse(), resources: made });
    const end = async (): Promise<string> => {
      slow.goOn();
      return late;
    };
    return { store, second, end };
  }

  test.each(["complete", "startStep"] as const)("S20 is not kept: %s", async (verb) => {
    const { store, second, end } = await takenFrom(verb);
    expect(await end()).toBe("stale");
    expect(await store.resources(second.identity)).toEqual(made);
  });

  test("S20, S24 is not kept under a record that was forgotten meanwhile", async () => {
    const { store, second, end } = await takenFrom("complete");
    expect(await store.forget({ ...second, actor: "ann", reason: "asked" })).toBe("ok");
    expect(await end()).toBe("stale");
    expect(await store.resources(second.identity)).toEqual([]);
    expect((await store.list({ resource: told[0] ?? expect.unreachable(), limit: 10 })).records).toEqual([]);
  });
});
