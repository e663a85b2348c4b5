/** A process that stands still while it forgets, or dies: what runs under the key since then keeps what it has. */
import { mysqlStore } from "ichido/mysql";
import { sampleResponse } from "ichido/testing";
import { expect, test } from "vitest";
import { describeWith } from "../support/services.ts";
import { completed, keysByLabel, openBed } from "./mysql-bed.ts";
import { dying, standing } from "./mysql-clients.ts";
import { granted, request } from "./mysql-life.ts";

const person = { actor: "ann", reason: "asked" };
const labels = { customer: "42" };
const day = { agoMs: 0, tookMs: 1, keepMs: 86_400_000 };

describeWith("mariadb", "forgetting", (url) => {
  /** Forgets a record and stands still before `statement`; what is left of the record goes by its retention. */
  async function halfForgotten(statement: RegExp) {
    const { client, store } = await openBed(url);
    const first = await completed(store, "key", "a", { labels });
    const slow = standing(client.pool, statement);
    const forgetting = mysqlStore(slow.pool, { callTimeoutMs: 30_000 }).forget({ ...first, ...person });
    await slow.reached;
    await client.rows("delete from ichido_records");
    const end = async (): Promise<string> => {
      slow.goOn();
      return forgetting;
    };
    return { client, store, end };
  }

  test("S11, S24 leaves steps and resources of a later life alone", async () => {
    const { store, end } = await halfForgotten(/delete from ichido_steps/);
    const second = await granted(store, request("key", "b"));
    const step = { ...second, name: "charge", leaseMs: 30_000 };
    await store.startStep(step);
    await store.finishStep({ ...step, result: new Uint8Array([1]) });
    const resources = [{ kind: "charge", id: "ch_1" }];
    await store.complete({ ...second, response: sampleResponse(), resources });
    expect(await end()).toBe("ok");
    expect(await store.steps(second.identity)).toMatchObject([{ name: "charge", state: "finished" }]);
    expect(await store.resources(second.identity)).toEqual([{ kind: "charge", id: "ch_1" }]);
  });

  test("S17, S21, S22, S23, S24 leaves labels, attempts, pairs and reasons of a later life alone", async () => {
    const { store, end } = await halfForgotten(/delete from ichido_labels/);
    const second = await completed(store, "key", "b", { labels });
    const other = await completed(store, "other", "c");
    const ran = { ...day, outcome: "executed", fence: second.fence, canonical: new Uint8Array(32) } as const;
    const logged = await store.log({
      process: "p",
      suspectWithinMs: 60_000,
      notes: [
        { ...ran, identity: second.identity, number: 1 },
        { ...ran, identity: other.identity, number: 2 },
        { ...day, identity: second.identity, number: 3, outcome: "replayed" },
      ],
    });
    expect(logged.pairs).toHaveLength(1);
    await store.note({ identity: second.identity, actor: "bob", action: "look", reason: "of the later life" });
    const known = async () => ({
      found: await keysByLabel(store, "customer", "42"),
      attempts: (await store.attempts(second.identity)).map(({ outcome }) => outcome),
      pairs: (await store.twins(second.identity)).length,
      reasons: (await store.audit(second.identity)).map(({ reason }) => reason),
    });
    const before = await known();
    expect(before).toEqual({
      found: ["key"],
      attempts: ["executed", "replayed"],
      pairs: 1,
      reasons: ["asked", "of the later life"],
    });
    expect(await end()).toBe("ok");
    expect(await known()).toEqual(before);
  });

  test("S24 erases what is known of the former life, though a later one has begun", async () => {
    const { client, store } = await openBed(url);
    const first = await completed(store, "key", "a");
    const note = { ...day, identity: first.identity, outcome: "replayed", askedBy: "before" } as const;
    await store.log({ process: "p", suspectWithinMs: 0, notes: [{ ...note, number: 1 }] });
    await store.note({ identity: first.identity, actor: "bob", action: "look", reason: "of the former life" });
    const slow = standing(client.pool, /delete from ichido_steps/);
    const forgetting = mysqlStore(slow.pool, { callTimeoutMs: 30_000 }).forget({ ...first, ...person });
    await slow.reached;
    await client.rows("delete from ichido_records");
    await completed(store, "key", "b");
    await store.log({ process: "p", suspectWithinMs: 0, notes: [{ ...note, askedBy: "since", number: 2 }] });
    slow.goOn();
    expect(await forgetting).toBe("ok");
    expect((await store.attempts(first.identity)).flatMap(({ askedBy }) => askedBy ?? [])).toEqual(["since"]);
    expect((await store.audit(first.identity)).map(({ reason }) => reason)).toEqual(["", "asked"]);
  });

  test.each(["labels", "steps", "resources", "attempts", "twins"])(
    "S24 what a process that died before it erased the %s has left goes when the same is asked for again",
    async (table) => {
      const { client, store } = await openBed(url);
      const claim = await completed(store, "key", "a", { labels });
      const dead = mysqlStore(dying(client.pool, new RegExp(`delete from ichido_${table}`)));
      await expect(dead.forget({ ...claim, ...person })).rejects.toThrow();
      expect(await store.forget({ ...claim, ...person })).toBe("forgotten");
      expect(await client.rows("select 1 from ichido_labels")).toEqual([]);
      expect((await store.find(claim.identity))?.labels).toEqual({});
    },
  );
});
