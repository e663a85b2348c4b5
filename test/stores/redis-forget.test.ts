/** A record is forgotten by several steps on Redis: one whose answer is lost, or that comes late, is no other one's. */
import { createHash } from "node:crypto";
import { Redis } from "ioredis";
import { redisStore } from "ichido/redis";
import { sampleResponse } from "ichido/testing";
import { expect, onTestFinished, test } from "vitest";
import { statements } from "../../packages/ichido/src/stores/redis/statements.generated.ts";
import { eventually } from "../support/eventually.ts";
import { describeWith, uniqueName } from "../support/services.ts";
import { grant, request } from "./postgres-life.ts";

const labels = { order: "7" };
const resources = [{ kind: "charge", id: "ch_1" }];
const asked = { actor: "ann", reason: "asked" };
const forgetDigest = createHash("sha1").update(statements.forget).digest("hex");

type Call = (...given: unknown[]) => Promise<unknown>;

describeWith("redis", "forgetting on Redis", (url) => {
  function openStores(around: (send: () => Promise<unknown>, command: string) => Promise<unknown>) {
    const clients = [new Redis(url), new Redis(url)] as const;
    onTestFinished(() => clients.forEach((client) => client.disconnect()));
    const [client, other] = clients;
    const call = other.callBuffer.bind(other) as Call;
    Object.assign(other, {
      callBuffer: ((...given) => around(() => call(...given), JSON.stringify(given))) satisfies Call,
    });
    const prefix = `${uniqueName("forget")}:`;
    return { client, prefix, store: redisStore(client, { prefix }), other: redisStore(other, { prefix }) };
  }

  test("S24 whoever forgot a record is told so, and stands in the audit, though the first reply was lost", async () => {
    let lost = 0;
    const { store, other } = openStores(async (send, command) => {
      const reply = await send();
      if (lost > 0 || !(command.includes(forgetDigest) || command.includes("Leaves a tombstone"))) return reply;
      lost += 1;
      throw new Error("Connection is closed.");
    });
    const held = await grant(store, request("key", "a", { labels }));
    await store.complete({ ...held, response: sampleResponse() });
    expect(await other.forget({ ...held, ...asked })).toBe("ok");
    expect(lost).toBe(1);
    const entries = (await store.auditLog({ limit: 10 })).entries;
    expect(entries).toMatchObject([{ ...asked, action: "forget" }]);
    expect(await store.forget({ ...held, ...asked })).toBe("forgotten");
    expect(await store.audit(held.identity)).toHaveLength(1);
  });

  test("S24 forgetting again ends what a server that was away for a moment had left of it", async () => {
    let isAway = false;
    const { client, prefix, store, other } = openStores(async (send, command) => {
      if (isAway && command.toLowerCase().includes('"zrem"')) throw new Error("ERR the server of the index is away");
      return send();
    });
    const held = await grant(store, request("key", "a", { labels }));
    await store.complete({ ...held, response: sampleResponse() });
    isAway = true;
    await expect(other.forget({ ...held, ...asked })).rejects.toThrow();
    isAway = false;
    expect(await other.forget({ ...held, ...asked })).toBe("forgotten");
    const [index = ""] = await client.keys(`${prefix}{i:*`);
    expect(await client.zcard(index)).toBe(0);
    const { entries } = await store.auditLog({ limit: 10 });
    expect(entries).toMatchObject([{ ...asked, action: "forget" }]);
    expect(await other.forget({ ...held, ...asked })).toBe("forgotten");
    expect((await store.auditLog({ limit: 10 })).entries).toHaveLength(1);
  });

  test("S14 a decision that was made is told as made, though the journal of all decisions is away", async () => {
    let isAway = false;
    const { store, other } = openStores(async (send, command) => {
      if (isAway && command.includes("{audit}")) throw new Error("ERR the server of the journal is away");
      return send();
    });
    const held = await grant(store, request("key", "a"));
    await store.suspend({ ...held, holdReason: "ask" });
    const { identity, fence } = held;
    isAway = true;
    expect(await other.settle({ identity, fence, decision: { kind: "release" }, ...asked })).toBe("ok");
    expect((await store.find(identity))?.state).toBe("failed");
    isAway = false;
    await eventually(async () => {
      await other.tick({ intervalMs: 1_000 });
      const { entries } = await store.auditLog({ limit: 10 });
      expect(entries).toMatchObject([{ ...asked, action: "release" }]);
    });
  });

  test("S24 one that stood still leaves labels, resources and attempts of a later life alone", async () => {
    const reached = Promise.withResolvers<undefined>();
    const goesOn = Promise.withResolvers<undefined>();
    const { client, prefix, store, other } = openStores(async (send, command) => {
      if (command.toLowerCase().includes('"zrem"')) {
        reached.resolve(undefined);
        await goesOn.promise;
      }
      return send();
    });
    const note = (attempt: number) =>
      ({ outcome: "replayed", agoMs: 0, tookMs: 1, number: attempt, keepMs: 86_400_000 }) as const;
    const former = await grant(store, request("key", "a", { labels: { ...labels, customer: "c1" } }));
    const { identity } = former;
    await store.complete({ ...former, response: sampleResponse(), resources });
    await store.log({ process: "p", suspectWithinMs: 0, notes: [{ ...note(1), identity }] });
    const forgetting = other.forget({ ...former, ...asked });
    await reached.promise;
    // Its retention has ended, and a sweep took it.
    const [name] = (await client.keys(`${prefix}*`)).filter((each) => /\{[\w-]{43}\}$/.test(each));
    await client.del(name ?? expect.fail());
    const later = await grant(store, request("key", "b", { labels }));
    await store.complete({ ...later, response: sampleResponse(), resources });
    await store.log({ process: "p", suspectWithinMs: 0, notes: [{ ...note(2), identity }] });
    goesOn.resolve(undefined);
    expect(await forgetting).toBe("ok");
    const found = async (query: object): Promise<number> => (await store.list({ ...query, limit: 10 })).records.length;
    expect(await found({ label: { name: "order", value: "7" } })).toBe(1);
    expect(await found({ resource: resources[0] })).toBe(1);
    const kept = (await store.attempts(identity)).filter(({ outcome }) => outcome === "replayed");
    expect(kept.map(({ number }) => number)).toEqual([2]);
  });
});
