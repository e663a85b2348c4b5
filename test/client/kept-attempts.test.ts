/** What is kept of attempts: how many, how long, and what a damaged item or a clock that was set back means. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createAttempts, createFetch, memoryStorage, type AttemptStorage } from "ichido/client";
import { fileStorage } from "ichido/client/node";
import { bench, order, pay } from "./payment-bench.ts";

const dayMs = 86_400_000;
const hourMs = 3_600_000;

function openStorage(): AttemptStorage & { readonly items: Map<string, string> } {
  const items = new Map<string, string>();
  return {
    items,
    getItem: (name) => items.get(name),
    setItem: (name, value) => items.set(name, value),
    removeItem: (name) => items.delete(name),
  };
}

const attemptsIn = (items: Map<string, string>): string[] =>
  [...items.keys()].filter((name) => name.startsWith("ichido:attempt:"));

describe("attempts that were made and never sent", () => {
  it("are at most five hundred, the newest ones", async () => {
    const storage = openStorage();
    const attempts = createAttempts({ storage, nowMs: Date.now });
    for (let cart = 0; cart < 700; cart += 1) await attempts.create(`cart-${cart}`, cart);
    const kept = attemptsIn(storage.items);
    expect(kept).toHaveLength(500);
    expect(kept).toContain("ichido:attempt:cart-699");
    expect(kept).not.toContain("ichido:attempt:cart-199");
  });

  it("go after thirty days, when another is made", async () => {
    const storage = openStorage();
    let nowMs = Date.now();
    const attempts = createAttempts({ storage, nowMs: () => nowMs });
    const first = await attempts.create("cart-1", 1);
    nowMs += 29 * dayMs;
    await attempts.create("cart-2", 2);
    expect((await attempts.create("cart-1", 1)).key).toBe(first.key);
    nowMs += 31 * dayMs;
    await attempts.create("cart-3", 3);
    expect(attemptsIn(storage.items)).toEqual(["ichido:attempt:cart-3"]);
  });

  it("also in a file", async () => {
    const folder = mkdtempSync(join(tmpdir(), "ichido-kept-"));
    let nowMs = Date.now();
    const storage = fileStorage(join(folder, "attempts.json"));
    const attempts = createAttempts({ storage, nowMs: () => nowMs });
    await attempts.create("cart-1", 1);
    nowMs += 31 * dayMs;
    await attempts.create("cart-2", 2);
    expect(await storage.getItem("ichido:attempt:cart-1")).toBeUndefined();
    expect(await storage.getItem("ichido:attempt:cart-2")).toBeDefined();
    rmSync(folder, { recursive: true });
  });
});

describe("attempts that were sent and whose outcome is open", () => {
  it("stay whatever else is made, for thirty days", async () => {
    const storage = openStorage();
    let nowMs = Date.now();
    const attempts = createAttempts({ storage, nowMs: () => nowMs });
    const open = await attempts.create("open", 1);
    await attempts.markSent(open);
    for (let cart = 0; cart < 600; cart += 1) await attempts.create(`cart-${cart}`, cart);
    expect(await attempts.create("open", 1)).toMatchObject({ key: open.key, resumed: true });
    nowMs += 31 * dayMs;
    await attempts.create("another", 1);
    expect(attemptsIn(storage.items)).toEqual(["ichido:attempt:another"]);
  });

  it("what was done before under the name of one that is only looked at is not forgotten with it", async () => {
    const storage = openStorage();
    const attempts = createAttempts({ storage, nowMs: Date.now });
    const paid = await attempts.create("cart", 1);
    await attempts.markSent(paid);
    await attempts.settle(paid, "done");
    await attempts.create("cart", 2);
    for (let cart = 0; cart < 600; cart += 1) await attempts.create(`cart-${cart}`, cart);
    expect(await attempts.create("cart", 1)).toMatchObject({ key: paid.key, done: true });
  });
});

describe("what cannot be read of an attempt", () => {
  it.each(["{", "", "[]", '{"key":"k"}', "null"])(
    "%j is an error, not a new key; startOver is the way out",
    async (text) => {
      const storage = openStorage();
      const attempts = createAttempts({ storage, nowMs: Date.now });
      const first = await attempts.create("cart-1", 1);
      await attempts.markSent(first);
      storage.items.set("ichido:attempt:cart-1", text);
      const again = attempts.create("cart-1", 1);
      await expect(again).rejects.toMatchObject({ code: "storage-failed" });
      await expect(again).rejects.toThrow(/startOver/);
      await expect(attempts.markSent(first)).rejects.toMatchObject({ code: "storage-failed" });
      await attempts.startOver("cart-1");
      expect((await attempts.create("cart-1", 1)).key).not.toBe(first.key);
    },
  );

  it("a list of names that cannot be read keeps nobody from making one", async () => {
    const storage = openStorage();
    const attempts = createAttempts({ storage, nowMs: Date.now });
    for (const text of ["{", "{}", "null", "7", "[1]"]) {
      for (const place of ["ichido:made", "ichido:done"]) storage.items.set(place, text);
      const attempt = await attempts.create("cart-1", 1);
      await attempts.markSent(attempt);
      await attempts.settle(attempt, "done");
      expect(await attempts.create("cart-1", 1)).toMatchObject({ key: attempt.key, done: true });
      await attempts.startOver("cart-1");
    }
  });
});

describe("a clock that was set back", () => {
  it.each([
    ["by two days", 48 * hourMs, 30 * hourMs],
    ["by an hour", hourMs, 0],
  ])("%s since the key was sent: expired, nothing is sent", async (_, aheadMs, laterMs) => {
    const all = await bench();
    const storage = memoryStorage();
    const realMs = Date.now();
    let nowMs = realMs + aheadMs;
    const clock = { nowMs: () => nowMs, elapsedMs: () => 0, random: () => 0, sleep: async () => undefined };
    const client = all.make({ storage, clock, retry: { triesMax: 1 } });
    all.always.push((res) => void res.socket?.destroy());
    const lost = await pay({ client });
    expect(lost.kind).toBe("unknown");
    all.always.length = 0;
    const sent = all.keys.length;
    nowMs = realMs + laterMs;
    expect(await pay({ client })).toMatchObject({ kind: "unknown", reason: "expired", tries: 0 });
    expect(all.keys).toHaveLength(sent);
  });

  it("by less than a minute is none", async () => {
    const all = await bench();
    let nowMs = Date.now();
    const clock = { nowMs: () => nowMs, elapsedMs: () => 0, random: () => 0, sleep: async () => undefined };
    const client = all.make({ storage: memoryStorage(), clock, retry: { triesMax: 1 } });
    all.always.push((res) => void res.socket?.destroy());
    const lost = await pay({ client });
    all.always.length = 0;
    nowMs -= 30_000;
    expect(await pay({ client })).toMatchObject({ kind: "done", key: lost.key });
  });
});

describe("a device that sleeps between two tries", () => {
  it.each(["with an attempt", "with a fetch"])("%s: past the retention nothing more is sent", async (how) => {
    const all = await bench();
    let nowMs = Date.now();
    // Timers and the clock of deadlines stand still with the device; the server's time does not.
    const sleep = async (): Promise<void> => void (nowMs += 30 * hourMs);
    const clock = { nowMs: () => nowMs, elapsedMs: () => 0, random: () => 0, sleep };
    all.proxy.cut({ direction: "to-client", pattern: "HTTP/1.1 201", place: "before" });
    if (how === "with an attempt") {
      const lost = await pay({ client: all.make({ clock, storage: memoryStorage() }) });
      expect(lost).toMatchObject({ kind: "unknown", reason: "expired", tries: 1 });
    } else {
      const url = new URL("/payments", all.proxy.url);
      const lost = createFetch({ clock, storage: memoryStorage() })(url, { method: "POST", body: "{}" });
      await expect(lost).rejects.toMatchObject({ code: "outcome-unknown", reason: "expired" });
    }
    expect(all.keys).toHaveLength(1);
  });
});

describe("a 402 that asks for a payment first", () => {
  it.each([
    ["WWW-Authenticate", { "www-authenticate": 'Payment realm="shop"' }, {}],
    ["PAYMENT-REQUIRED", { "payment-required": "eyJ9" }, {}],
    ["an x402 body", {}, { x402Version: 1, accepts: [{ scheme: "exact" }] }],
  ])("as %s keeps the key: paid for, the same attempt takes effect once", async (_, headers, body) => {
    const all = await bench();
    const challenge = (res: Parameters<(typeof all.plan)[number]>[0]): void =>
      void res.status(402).set(headers).json(body);
    all.plan.push(challenge, challenge);
    const asked = await pay(all);
    expect(asked).toMatchObject({ kind: "declined", keyKept: true });
    expect(asked.answer?.status).toBe(402);
    expect(all.effects()).toBe(0);
    const attempt = await all.client.createAttempt("pay:b-1", order);
    expect(attempt.key).toBe(asked.key);
    const paid = await all.client.post("/payments", { attempt, json: order, headers: { "x-payment": "proof" } });
    expect(paid).toMatchObject({ kind: "done", key: asked.key, replayed: false });
    expect(await pay(all)).toMatchObject({ kind: "done", key: asked.key, replayed: true });
    expect(all.effects()).toBe(1);
  });
});
