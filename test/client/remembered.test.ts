/** An outcome that nobody saw: the page went away between the answer and the eye. */
import { describe, expect, it } from "vitest";
import { memoryStorage, type AttemptStorage } from "ichido/client";
import { bench, order, pay } from "./payment-bench.ts";

function countingStorage(): AttemptStorage & { readonly items: Map<string, string> } {
  const items = new Map<string, string>();
  return {
    items,
    getItem: (name) => items.get(name),
    setItem: (name, value) => items.set(name, value),
    removeItem: (name) => items.delete(name),
  };
}

describe("what is done is remembered", () => {
  it("after a reload the same intent has the same key, and the server gives its answer again", async () => {
    const all = await bench();
    const storage = memoryStorage();
    const first = await pay({ client: all.make({ storage }) });
    const after = all.make({ storage });
    const attempt = await after.createAttempt("pay:b-1", order);
    expect(attempt).toMatchObject({ key: first.key, resumed: true, done: true });
    expect(await after.post("/payments", { attempt, json: order })).toMatchObject({ kind: "done", replayed: true });
    expect(all.effects()).toBe(1);
  });

  it("until the payload is another one, or somebody starts over", async () => {
    const all = await bench();
    const first = await pay(all);
    const other = await all.client.createAttempt("pay:b-1", { ...order, amount: 200 });
    expect(other).toMatchObject({ resumed: false });
    expect(other.done).toBeUndefined();
    await all.client.post("/payments", { attempt: other, json: { ...order, amount: 200 } });
    const second = await pay(all);
    await all.client.startOver("pay:b-1");
    const third = await pay(all);
    expect(new Set([first.key, other.key, second.key, third.key]).size).toBe(4);
    expect(all.effects()).toBe(4);
  });

  it("a payload that is only looked at, such as a cart that still loads, does not make it forgotten", async () => {
    const all = await bench();
    const first = await pay(all);
    await all.client.createAttempt("pay:b-1", {});
    const other = await all.client.createAttempt("pay:b-1", { ...order, amount: 200 });
    expect(await all.client.createAttempt("pay:b-1", order)).toMatchObject({ key: first.key, done: true });
    expect(all.effects()).toBe(1);
    const again = await all.client.createAttempt("pay:b-1", { ...order, amount: 200 });
    expect(again.key).not.toBe(other.key);
    await all.client.post("/payments", { attempt: again, json: { ...order, amount: 200 } });
    expect((await pay(all)).key).not.toBe(first.key);
  });

  it("other content under what is done is an error before it leaves", async () => {
    const all = await bench();
    const attempt = await all.client.createAttempt("pay", "cart-7");
    await all.client.post("/payments", { attempt, json: order });
    const other = all.client.post("/payments", { attempt, json: { ...order, amount: 200 } });
    await expect(other).rejects.toMatchObject({ code: "attempt-changed" });
    expect(all.keys).toHaveLength(1);
  });

  it("a stranger's refusal of what is done changes nothing", async () => {
    const all = await bench();
    const first = await pay(all);
    all.always.push((res) => void res.status(404).json({}));
    expect(await pay(all)).toMatchObject({ kind: "unknown", key: first.key });
    all.always.length = 0;
    expect(await pay(all)).toMatchObject({ kind: "done", replayed: true, key: first.key });
  });

  it("for as long as rememberMs says, a day by default", async () => {
    const all = await bench();
    let nowMs = Date.now();
    const clock = { nowMs: () => nowMs, random: () => 0, sleep: async () => undefined };
    for (const [rememberMs, ms] of [
      [undefined, 86_400_000],
      [3_600_000, 3_600_000],
    ] as const) {
      const client = all.make({ clock, storage: memoryStorage(), rememberMs });
      const { key } = await pay({ client });
      nowMs += ms - 1;
      expect((await client.createAttempt("pay:b-1", order)).key).toBe(key);
      nowMs += 1;
      expect((await client.createAttempt("pay:b-1", order)).key).not.toBe(key);
    }
  });

  it("not at all with rememberMs: 0, and nothing is left behind", async () => {
    const all = await bench();
    const storage = countingStorage();
    const client = all.make({ storage, rememberMs: 0 });
    const first = await pay({ client });
    expect([...storage.items.entries()].join()).not.toContain("pay:b-1");
    expect((await pay({ client })).key).not.toBe(first.key);
    expect(() => all.make({ rememberMs: -1 })).toThrow("rememberMs");
  });

  it("at most a hundred at a time, the latest; old ones go by themselves, open ones never", async () => {
    const all = await bench();
    let nowMs = Date.now();
    const clock = { nowMs: () => nowMs, random: () => 0, sleep: async () => undefined };
    const storage = countingStorage();
    const answering: typeof fetch = async () => Response.json({ ok: true });
    const client = all.make({ clock, storage, fetch: answering });
    const open = await client.createAttempt("open", order);
    await all
      .make({ storage, fetch: async () => Promise.reject(new TypeError("lost")), retry: { triesMax: 1 } })
      .post("/x", {
        attempt: open,
      });
    const done = async (name: string): Promise<string> =>
      (await client.post("/x", { attempt: await client.createAttempt(name, name), json: name })).key;
    const first = await done("n-1");
    for (let at = 2; at <= 100; at += 1) await done(`n-${at}`);
    expect((await client.createAttempt("n-1", "n-1")).key).toBe(first);
    await done("n-101");
    const attempts = [...storage.items.keys()].filter((name) => name.startsWith("ichido:attempt:"));
    expect(attempts.length).toBeLessThanOrEqual(101);
    expect((await client.createAttempt("n-1", "n-1")).done).toBeUndefined();
    expect((await client.createAttempt("n-101", "n-101")).done).toBe(true);
    nowMs += 86_400_000;
    await done("later");
    expect([...storage.items.keys()].filter((name) => /n-(2|50|101)$/.test(name))).toEqual([]);
    expect((await client.createAttempt("open", order)).key).toBe(open.key);
  });

  it("a storage that fails at the end still gives the result, and the next press the same one", async () => {
    const all = await bench();
    const storage = countingStorage();
    let fails = false;
    const failing = {
      ...storage,
      setItem: (name: string, value: string) =>
        fails ? Promise.reject(new Error("full")) : storage.setItem(name, value),
    };
    const client = all.make({ storage: failing });
    const attempt = await client.createAttempt("pay:b-1", order);
    all.plan.push(() => void (fails = true));
    const first = await client.post("/payments", { attempt, json: order });
    expect(first.kind).toBe("done");
    fails = false;
    expect(await pay({ client })).toMatchObject({ kind: "done", replayed: true, key: first.key });
    expect(all.effects()).toBe(1);
  });
});
