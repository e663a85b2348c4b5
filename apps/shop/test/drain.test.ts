/** SIGTERM, as Kubernetes sends it: under load, and with a handler that does not end. Real processes, a bank beside them. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { until } from "./support/poll.ts";
import { newFolder } from "./support/program.ts";
import { charges, pay, send, startBank, startShop, whileRunning, type Reply, type Shop } from "./support/shop.ts";

const CLIENTS = 8;

/** Pays one thing after the other, until nobody takes it any more. */
async function client(shop: Shop, sent: Map<string, Reply | undefined>): Promise<void> {
  for (;;) {
    const key = randomUUID();
    sent.set(key, undefined);
    const reply = await pay(shop, { key }).catch(() => undefined);
    if (reply === undefined) return;
    sent.set(key, reply);
  }
}

describe("SIGTERM", () => {
  it("under load: not ready first, no answer lost, no charge doubled, exit code 0 within the deadline", async () => {
    const SHOP_DATA = newFolder();
    const bank = await startBank({ BANK_DATA: join(SHOP_DATA, "bank.db") });
    const settings = { SHOP_DATA, GATEWAY_URL: bank.url };
    const shop = await startShop({
      ...settings,
      SHOP_HANDLER_DELAY_MS: "60",
      SHOP_ANNOUNCE_MS: "700",
      SHOP_DRAIN_MS: "15000",
    });
    const sent = new Map<string, Reply | undefined>();
    const clients = Promise.all(Array.from({ length: CLIENTS }, () => client(shop, sent)));
    await until("the load runs", () => [...sent.values()].filter((reply) => reply?.status === 201).length > CLIENTS);
    expect((await send(`${shop.url}/readyz`)).status).toBe(200);

    const signalledMs = performance.now();
    shop.kill("SIGTERM");
    const ready = await until("not ready", async () => {
      const reply = await send(`${shop.url}/readyz`);
      return reply.status === 503 && reply;
    });
    expect(ready.body).toMatchObject({ status: "not-ready", draining: true, closing: false });
    expect((await pay(shop)).status, "announced, and still at work").toBe(201);
    expect(await shop.exited).toEqual({ code: 0, signal: null });
    expect(performance.now() - signalledMs).toBeLessThan(15_000);
    expect(shop.output.errors(), "nothing was left").toBe("");
    await clients;

    const answered = [...sent].filter(([, reply]) => reply !== undefined);
    expect(answered.map(([, reply]) => reply?.status).filter((status) => status !== 201)).toEqual([]);
    const unanswered = [...sent].filter(([, reply]) => reply === undefined).map(([key]) => key);
    const next = await startShop(settings);
    // Whoever got no answer never got in: nothing of it is known, and its retry is the first run.
    for (const key of unanswered) expect((await pay(next, { key })).status).toBe(201);
    for (const [key, reply] of answered) {
      const replay = await pay(next, { key });
      expect([replay.status, replay.text]).toEqual([200, reply?.text]);
    }
    const ledger = await charges(bank.url);
    expect(new Set(ledger.map(({ reference }) => reference)).size).toBe(ledger.length);
    expect(ledger).toHaveLength(sent.size + 1);
  });

  it("a handler that outlasts the deadline: what was left is said, and the next shop finds out what became of it", async () => {
    const SHOP_DATA = newFolder();
    const bank = await startBank({ BANK_DATA: join(SHOP_DATA, "bank.db") });
    const settings = { SHOP_DATA, GATEWAY_URL: bank.url };
    const shop = await startShop({ ...settings, SHOP_HANDLER_DELAY_MS: "60000", SHOP_DRAIN_MS: "1500" });
    const key = randomUUID();
    const lost = pay(shop, { key }).catch(() => "lost");
    await whileRunning(shop);
    const signalledMs = performance.now();
    shop.kill("SIGTERM");
    expect(await shop.exited).toEqual({ code: 0, signal: null });
    expect(performance.now() - signalledMs, "the deadline, and a busy machine").toBeLessThan(6_000);
    expect(shop.output.errors()).toMatch(
      /^shop: not finished within 1500 ms: payment\.create [0-9a-f]{8} ran for \d+ ms; http late with 1 in flight\n$/,
    );
    expect(shop.output.errors()).not.toContain(key);
    expect(await lost).toBe("lost");
    const next = await startShop(settings);
    // No lease is waited for: it was ended.
    const paid = await until("a verdict", async () => {
      const reply = await pay(next, { key });
      return (reply.status === 201 || reply.status === 200) && reply;
    });
    expect(paid.body).toMatchObject({ status: "captured" });
    await sleep(50);
    expect(await charges(bank.url)).toHaveLength(1);
  });
});
