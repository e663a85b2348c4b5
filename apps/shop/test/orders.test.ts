import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { until } from "./support/poll.ts";
import { expectProblem } from "./support/problem.ts";
import { newFolder } from "./support/program.ts";
import { send, startShop, type Sending, type Shop } from "./support/shop.ts";

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const wish = { productId: "prod-123", quantity: 2 };
const order = (shop: Shop, sending: Sending = {}) =>
  send(`${shop.url}/orders`, { key: randomUUID(), body: wish, ...sending });

describe("orders", () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await startShop({ SHOP_DATA: newFolder() });
  });
  const put = (id: string, body: unknown, token = "demo-1") =>
    send(`${shop.url}/orders/${id}`, { method: "PUT", body, token });

  it("POST creates: 201, Location, the order; the same key replays 201; other content is 409", async () => {
    const { price, currency } = (await send(`${shop.url}/products/prod-123`)).body;
    const key = randomUUID();
    const first = await order(shop, { key });
    expect(first.status, first.text).toBe(201);
    const { orderId, createdAt } = first.body;
    const amount = 2 * Number(price);
    expect(first.body).toEqual({ orderId, ...wish, amount, currency, status: "pending", version: 1, createdAt });
    expect(orderId).toMatch(UUID_V7);
    expect(first.headers.get("location")).toBe(`/orders/${String(orderId)}`);
    const again = await order(shop, { key });
    expect([again.status, again.text, again.headers.get("idempotency-replayed")]).toEqual([201, first.text, "true"]);
    expectProblem(await order(shop, { key, body: { ...wish, quantity: 3 } }), 409, "idempotency-key-reused");
    expectProblem(await send(`${shop.url}/orders`, { body: wish }), 400, "idempotency-key-required");
  });

  it("GET gives the order with a strong ETag, 304 to whoever has it, 404 to another tenant", async () => {
    const made = await order(shop);
    const url = `${shop.url}${String(made.headers.get("location"))}`;
    const read = await send(url);
    expect([read.status, read.text]).toEqual([200, made.text]);
    const etag = String(read.headers.get("etag"));
    expect(etag).toMatch(/^"[^"]+"$/);
    expect(made.headers.get("etag")).toBe(etag);
    expect((await send(url, { headers: { "if-none-match": etag } })).status).toBe(304);
    expectProblem(await send(url, { token: "demo-3" }), 404, "not-found");
  });

  it("PUT creates by the client's id: 201 first, 200 when the same, 409 with other content, each tenant for itself", async () => {
    const id = `order-${randomUUID()}`;
    const first = await put(id, wish);
    expect([first.status, first.body.orderId]).toEqual([201, id]);
    const again = await put(id, { quantity: 2, productId: "prod-123", note: "ignored" });
    expect([again.status, again.text]).toEqual([200, first.text]);
    expectProblem(await put(id, { ...wish, quantity: 3 }), 409, "order-exists");
    expectProblem(await put(id, { ...wish, productId: "prod-456" }), 409, "order-exists");
    expect((await put(id, { ...wish, quantity: 3 }, "demo-3")).status).toBe(201);
    const other = `order-${randomUUID()}`;
    const race = await Promise.all(Array.from({ length: 8 }, () => put(other, wish)));
    expect(race.map(({ status }) => status).toSorted((some, other) => some - other)).toEqual([
      ...Array.from({ length: 7 }, () => 200),
      201,
    ]);
  });

  it("answers 400 to an unknown product and to what cannot be right, and leaves the key free", async () => {
    const key = randomUUID();
    expectProblem(await order(shop, { key, body: { ...wish, productId: "prod-0" } }), 400, "unknown-product");
    for (const quantity of [0, -1, 1.5, "2", null]) {
      expectProblem(await order(shop, { key, body: { ...wish, quantity } }), 400, "validation");
    }
    expect((await order(shop, { key })).status).toBe(201);
    expectProblem(await put("x", { ...wish, productId: "prod-0" }), 400, "unknown-product");
  });

  it("GET /products/:productId tells price and stock; an unknown one is 404", async () => {
    for (const productId of ["prod-123", "prod-456"]) {
      const { body } = await send(`${shop.url}/products/${productId}`);
      expect(body).toEqual({ productId, price: expect.any(Number), currency: "EUR", stock: expect.any(Number) });
    }
    expectProblem(await send(`${shop.url}/products/prod-0`), 404, "not-found");
    expectProblem(await send(`${shop.url}/products/prod-123`, { token: "" }), 401, "unauthorized");
  });
});

describe("an order that takes long", () => {
  it("C-03 202 with the operation's address while the first runs; its owner sees it complete, nobody else sees it", async () => {
    const shop = await startShop({ SHOP_DATA: newFolder(), SHOP_HANDLER_DELAY_MS: "1500" });
    const key = randomUUID();
    const first = order(shop, { key });
    const accepted = await until("the second request meets the first", async () => {
      const reply = await order(shop, { key });
      return reply.status === 202 ? reply : undefined;
    });
    expect(Number(accepted.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(accepted.headers.get("idempotency-replayed")).toBeNull();
    const location = String(accepted.headers.get("location"));
    expect(location).toMatch(/^\/operations\/[\w-]+$/);
    const url = `${shop.url}${location}`;
    const operationId = location.split("/").at(-1);
    expect((await send(url)).body).toEqual({ operationId, state: "processing" });
    for (const token of ["demo-2", "demo-3"]) expectProblem(await send(url, { token }), 404, "not-found");
    expectProblem(await send(`${shop.url}/operations/nonsense`), 404, "not-found");
    const made = await first;
    expect((await send(url)).body).toEqual({ operationId, state: "completed", result: made.headers.get("location") });
  });

  it("E-07 kill -9 inside it: unknown, then the retry orders once", async () => {
    const shared = { SHOP_DATA: newFolder(), IDEMPOTENCY_LEASE_MS: "1500" };
    const [slow, quick] = await Promise.all([
      startShop({ ...shared, SHOP_HANDLER_DELAY_MS: "60000" }),
      startShop(shared),
    ]);
    const key = randomUUID();
    const lost = order(slow, { key }).catch(() => "lost");
    const accepted = await until("claimed", async () => {
      const { text } = await send(`${quick.url}/metrics`);
      return text.includes('{state="processing"} 1') ? order(quick, { key }) : undefined;
    });
    expect(accepted.status, accepted.text).toBe(202);
    slow.kill("SIGKILL");
    expect(await lost).toBe("lost");
    const url = `${quick.url}${String(accepted.headers.get("location"))}`;
    await until("the lease ends", async () => (await send(url)).body.state === "unknown");
    const made = await order(quick, { key });
    expect(made.status, made.text).toBe(201);
    expect((await order(quick, { key })).text).toBe(made.text);
    expect((await send(url)).body).toMatchObject({ state: "completed", result: made.headers.get("location") });
  });
});

describe("two shops on one folder", () => {
  it("A01 C-04 order once for each of 40 keys under four simultaneous requests per key, and never fail", async () => {
    const shared = { SHOP_DATA: newFolder() };
    const shops = await Promise.all([startShop(shared), startShop(shared)]);
    const keys = Array.from({ length: 40 }, () => randomUUID());
    const seen = new Set<number>();
    const ordered = (key: string, turn: number) =>
      until("an order", async () => {
        const reply = await order(shops[turn % 2] as Shop, { key });
        seen.add(reply.status);
        return reply.status === 201 ? reply : undefined;
      });
    const answers = await Promise.all(
      keys.map((key) => Promise.all(Array.from({ length: 4 }, (_, turn) => ordered(key, turn)))),
    );
    expect([...seen].filter((status) => status !== 201 && status !== 202)).toEqual([]);
    for (const replies of answers) {
      expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
      expect(replies.filter(({ headers }) => headers.get("idempotency-replayed") === null)).toHaveLength(1);
    }
    expect(new Set(answers.map(([reply]) => reply?.body.orderId)).size).toBe(keys.length);
  });
});
