/**
 * Two shops on one PostgreSQL with NATS, payments and orders, one of the two killed every few seconds, the bank in
 * `timeout-but-charge` for a part of it. `npm run shop:storm` runs it for the full minute; the usual run is a short one.
 */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { natsUrl } from "../../../test/support/services.ts";
import { noteProof } from "../../../test/support/proof.ts";
import { until } from "./support/poll.ts";
import { newFolder } from "./support/program.ts";
import { settingsOf } from "./support/setups.ts";
import { charges, send, setFault, startBank, startShop, type Reply, type Sending, type Shop } from "./support/shop.ts";

const SECONDS = Number(process.env["STORM_SECONDS"] ?? 15);
const LEASE_MS = 2_000;
const WORKERS = 4;
const productId = "prod-123";
const price = 1_500;

/** Where a load balancer would send the next request. Interrupted ones have no answer. */
class Balancer {
  readonly shops: Shop[];
  readonly seen = new Map<string, number>();
  #turn = 0;

  constructor(shops: Shop[]) {
    this.shops = shops;
  }

  async send(path: string, sending: Sending): Promise<Reply | undefined> {
    const shop = this.shops[(this.#turn += 1) % this.shops.length] as Shop;
    const reply = await send(`${shop.url}${path}`, sending).catch(() => undefined);
    const what = reply === undefined ? "interrupted" : String(reply.status);
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
    return reply;
  }

  /** Asks with the same key until the answer is final; a client that gave up is the exception, not the rule. */
  insist(path: string, sending: Sending, final: readonly number[]): Promise<Reply> {
    return until(
      `a final answer of ${path}`,
      async () => {
        const reply = await this.send(path, sending);
        return reply !== undefined && final.includes(reply.status) ? reply : undefined;
      },
      120_000,
      50 + Math.random() * 100,
    );
  }
}

it(`two shops under fire for ${SECONDS} s: one charge a booking, one notification and one reduction of stock an order`, async () => {
  const bank = await startBank({ BANK_DATA: join(newFolder(), "bank.db") });
  const settings = {
    ...(await settingsOf("PostgreSQL")),
    BROKER_URL: await natsUrl(),
    GATEWAY_URL: bank.url,
    GATEWAY_TIMEOUT_MS: "500",
    IDEMPOTENCY_LEASE_MS: String(LEASE_MS),
  };
  const balancer = new Balancer(await Promise.all([startShop(settings), startShop(settings)]));
  const { shops } = balancer;
  const endMs = Date.now() + SECONDS * 1_000;
  const stockOf = async (): Promise<number> =>
    Number((await balancer.insist(`/products/${productId}`, {}, [200])).body["stock"]);
  const before = await stockOf();

  const payments = new Map<
    string,
    { readonly bookingId: string; readonly amount: number; readonly currency: string }
  >();
  const orders = new Map<string, { readonly key: string; readonly quantity: number }>();
  let kills = 0;

  const killer = async (): Promise<void> => {
    while (Date.now() < endMs) {
      await sleep(2_000 + Math.random() * 1_500);
      const index = kills % 2;
      const victim = shops[index] as Shop;
      victim.kill("SIGKILL");
      await victim.exited;
      kills += 1;
      shops[index] = await startShop(settings);
    }
  };
  const moody = async (): Promise<void> => {
    await sleep(SECONDS * 250);
    await setFault(bank.url, { mode: "timeout-but-charge", delayMs: 1_500 });
    await sleep(SECONDS * 250);
    await setFault(bank.url, { mode: "normal" });
  };
  const payer = async (): Promise<void> => {
    while (Date.now() < endMs) {
      const key = randomUUID();
      const body = { bookingId: `booking-${randomUUID()}`, amount: 1_200, currency: "EUR" };
      payments.set(key, body);
      // Twice at once, as an impatient client does.
      await Promise.all([1, 2].map(() => balancer.insist("/payments", { key, body }, [200, 201, 202])));
    }
  };
  const buyer = async (): Promise<void> => {
    while (Date.now() < endMs) {
      const orderId = `order-${randomUUID()}`;
      const quantity = 1 + (orders.size % 3);
      const placed = { method: "PUT", body: { productId, quantity } };
      await balancer.insist(`/orders/${orderId}`, placed, [200, 201]);
      const key = randomUUID();
      orders.set(orderId, { key, quantity });
      const paid = { key, body: { amount: price * quantity } };
      await Promise.all([1, 2].map(() => balancer.insist(`/orders/${orderId}/pay`, paid, [200])));
    }
  };
  await Promise.all([
    killer(),
    moody(),
    ...Array.from({ length: WORKERS }, payer),
    ...Array.from({ length: WORKERS }, buyer),
  ]);
  await setFault(bank.url, { mode: "normal" });
  await sleep(LEASE_MS + 500);

  // One lease after the end every key asked again has its answer.
  for (const [key, body] of payments) {
    const reply = await balancer.insist("/payments", { key, body }, [200, 402]);
    expect(reply.headers.get("idempotency-replayed")).toBe("true");
  }
  for (const [orderId, { key, quantity }] of orders) {
    const reply = await balancer.insist(`/orders/${orderId}/pay`, { key, body: { amount: price * quantity } }, [200]);
    expect(reply.body).toEqual({ orderId, status: "paid" });
  }
  const ledger = await charges(bank.url);
  expect(ledger).toHaveLength(payments.size);
  expect(new Set(ledger.map(({ reference }) => reference)).size).toBe(payments.size);

  const quantities = [...orders.values()].reduce((sum, { quantity }) => sum + quantity, 0);
  await until("stock is reduced for every order", async () => (await stockOf()) <= before - quantities, 60_000);
  for (const orderId of orders.keys()) {
    const { body } = await balancer.insist(`/notifications?orderId=${orderId}`, {}, [200]);
    expect(body["notifications"], orderId).toHaveLength(1);
  }
  expect(await stockOf()).toBe(before - quantities);
  expect(kills).toBeGreaterThan(1);
  expect(balancer.seen.get("interrupted"), "a storm that interrupts nobody proves nothing").toBeGreaterThan(0);
  // A storm with a violation does not get here.
  noteProof("storm-shop", {
    kind: "storms",
    what: "two shops, PostgreSQL and NATS",
    command: "npm run shop:storm",
    tried: payments.size + orders.size,
    unit: "payments and orders",
    faults: kills,
    counts: { charges: ledger.length, seconds: SECONDS },
    violations: 0,
  });
  console.log(
    `storm, ${SECONDS} s: ${payments.size} payments and ${ledger.length} charges, ${orders.size} orders, ${quantities} taken from stock, ` +
      `${kills} kills; answers ${JSON.stringify(Object.fromEntries(balancer.seen))}`,
  );
}, 600_000);
