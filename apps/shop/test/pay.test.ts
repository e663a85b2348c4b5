/** `POST /orders/:orderId/pay`, and what follows from it: one event, one notification, one reduction of stock. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeAll, describe, expect, it } from "vitest";
import { amqpUrl, natsUrl, redisUrl } from "../../../test/support/services.ts";
import { until } from "./support/poll.ts";
import { expectProblem } from "./support/problem.ts";
import { newFolder, type Settings } from "./support/program.ts";
import { settingsOf, type Setup } from "./support/setups.ts";
import { send, startBank, startShop, whileRunning, type Bank, type Reply, type Shop } from "./support/shop.ts";

interface Way {
  readonly title: string;
  readonly setup: Setup;
  readonly broker?: () => Promise<string>;
}

const ways: readonly Way[] = [
  { title: "SQLite, events in the process", setup: "SQLite" },
  { title: "MariaDB, events in the process", setup: "MariaDB" },
  { title: "PostgreSQL with keys in Redis, NATS", setup: "PostgreSQL with keys in Redis", broker: natsUrl },
  { title: "PostgreSQL, RabbitMQ", setup: "PostgreSQL", broker: amqpUrl },
  { title: "MariaDB, Redis Streams", setup: "MariaDB", broker: redisUrl },
];

let bank: Bank;
beforeAll(async () => {
  bank = await startBank({ BANK_DATA: join(newFolder(), "bank.db") });
});

async function order(shop: Shop, quantity = 1, orderId = `order-${randomUUID()}`): Promise<string> {
  const placed = await send(`${shop.url}/orders/${orderId}`, {
    method: "PUT",
    body: { productId: "prod-456", quantity },
  });
  expect(placed.status).toBe(201);
  return orderId;
}

const payOrder = (shop: Shop, orderId: string, amount: number, key: string = randomUUID()): Promise<Reply> =>
  send(`${shop.url}/orders/${orderId}/pay`, { key, body: { amount } });

async function notifications(shop: Shop, orderId: string, token = "demo-1"): Promise<readonly unknown[]> {
  const { body } = await send(`${shop.url}/notifications?orderId=${orderId}`, { token });
  return body["notifications"] as readonly unknown[];
}

const stock = async (shop: Shop): Promise<number> =>
  Number((await send(`${shop.url}/products/prod-456`)).body["stock"]);

describe.each(ways)("paying orders: $title", ({ setup, broker }) => {
  let settings: Settings;
  let shop: Shop;
  let second: Shop;
  beforeAll(async () => {
    settings = {
      ...(await settingsOf(setup)),
      GATEWAY_URL: bank.url,
      ...(broker === undefined ? {} : { BROKER_URL: await broker() }),
    };
    [shop, second] = await Promise.all([startShop(settings), startShop(settings)]);
  });

  it("a paid order has one notification and takes from stock once, whatever is asked again", async () => {
    const before = await stock(shop);
    const orderId = await order(shop, 3);
    const key = randomUUID();
    const all = await Promise.all([shop, second, shop, second].map((one) => payOrder(one, orderId, 8_970, key)));
    expect(all.map(({ status }) => status).every((status) => status === 200 || status === 409)).toBe(true);
    const again = await payOrder(second, orderId, 8_970, key);
    expect(again.status).toBe(200);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(again.body).toEqual({ orderId, status: "paid" });
    const other = await payOrder(shop, orderId, 1);
    expect([other.status, other.body]).toEqual([200, { orderId, status: "paid", note: "already paid" }]);
    await until("the notification is there", async () => (await notifications(shop, orderId)).length > 0);
    await until("the stock is reduced", async () => (await stock(shop)) < before);
    expect(await notifications(second, orderId)).toEqual([
      {
        orderId,
        eventId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        message: `Order ${orderId} is paid: 89.70 EUR.`,
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      },
    ]);
    expect(await stock(second)).toBe(before - 3);
    expect((await send(`${shop.url}/orders/${orderId}`)).body).toMatchObject({ status: "paid", version: 2 });
    expect(await notifications(shop, orderId, "demo-3"), "another tenant sees nothing").toEqual([]);
  });

  it("refusals are precise, and those about the order are kept", async () => {
    const before = await stock(shop);
    const orderId = await order(shop);
    const key = randomUUID();
    expectProblem(await payOrder(shop, orderId, 5, key), 409, "amount-mismatch");
    expect((await payOrder(shop, orderId, 5, key)).headers.get("idempotency-replayed")).toBe("true");
    expectProblem(await payOrder(shop, orderId, 2_990, key), 422, "idempotency-key-reused");
    const unknown = randomUUID();
    expectProblem(await payOrder(shop, "nowhere", 5, unknown), 404, "not-found");
    expect((await payOrder(shop, "nowhere", 5, unknown)).headers.get("idempotency-replayed")).toBe("true");
    expectProblem(await payOrder(shop, orderId, -5), 400, "validation");
    expectProblem(await send(`${shop.url}/notifications`), 400, "validation");
    expect((await payOrder(shop, orderId, 2_990)).status).toBe(200);
    // Its effects are over before the next test counts.
    await until("the notification is there", async () => (await notifications(shop, orderId)).length > 0);
    await until("the stock is reduced", async () => (await stock(shop)) < before);
  });

  it("two keys at once pay once", async () => {
    const before = await stock(shop);
    const orderId = await order(shop);
    const both = await Promise.all([shop, second].map((one) => payOrder(one, orderId, 2_990)));
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    expect(both.filter(({ body }) => body["note"] === "already paid")).toHaveLength(1);
    await until("the stock is reduced", async () => (await stock(shop)) < before);
    expect(await stock(shop)).toBe(before - 1);
  });

  it("what a killed shop had committed reaches its consumers", async () => {
    const doomed = await startShop({ ...settings, SHOP_HANDLER_DELAY_MS: "0" });
    const orders = await Promise.all(Array.from({ length: 10 }, () => order(doomed)));
    const before = await stock(shop);
    await Promise.all(orders.map((orderId) => payOrder(doomed, orderId, 2_990)));
    doomed.kill("SIGKILL");
    await doomed.exited;
    await until(
      "every order has its notification",
      async () =>
        (await Promise.all(orders.map((orderId) => notifications(shop, orderId)))).every((all) => all.length === 1),
      30_000,
    );
    await until("the stock is reduced", async () => (await stock(shop)) === before - 10, 30_000);
  });
});

describe("paying orders while the first request runs", () => {
  it("answers in flight", async () => {
    const slow = await startShop({
      ...(await settingsOf("SQLite")),
      GATEWAY_URL: bank.url,
      SHOP_HANDLER_DELAY_MS: "2000",
    });
    const orderId = await order(slow);
    const key = randomUUID();
    const first = payOrder(slow, orderId, 2_990, key);
    await whileRunning(slow);
    const meanwhile = await payOrder(slow, orderId, 2_990, key);
    expectProblem(meanwhile, 409, "idempotency-in-flight");
    expect(meanwhile.headers.get("retry-after")).toMatch(/^\d+$/);
    expect((await first).status).toBe(200);
  });
});

describe("an inbox that cannot be used", () => {
  it("is told once, and what was paid meanwhile has its notification when it is back", async () => {
    const SHOP_DATA = newFolder();
    const shop = await startShop({ SHOP_DATA, GATEWAY_URL: bank.url });
    const file = new DatabaseSync(join(SHOP_DATA, "shop.sqlite"), { timeout: 5_000 });
    const told = () => shop.output.errors().match(/events wait, the inbox cannot be used: .*/g) ?? [];
    for (const times of [1, 2]) {
      file.exec("ALTER TABLE ichido_inbox RENAME TO away");
      const orderId = await order(shop);
      expect((await payOrder(shop, orderId, 2_990)).status).toBe(200);
      await until("the log says so", () => told().length === times);
      expect(await notifications(shop, orderId)).toEqual([]);
      file.exec("ALTER TABLE away RENAME TO ichido_inbox");
      await until("it is notified", async () => (await notifications(shop, orderId)).length === 1);
    }
    file.close();
    expect(told()).toHaveLength(2);
    expect(told()[0]).toContain("the tables of the inbox are missing");
  });
});
