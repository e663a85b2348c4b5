/** What the shop promises to an HTTP client, on every database and with keys in Redis. Two shops, one database, one bank. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { until } from "./support/poll.ts";
import { expectProblem } from "./support/problem.ts";
import { newFolder } from "./support/program.ts";
import { settingsOf, setups } from "./support/setups.ts";
import {
  booking,
  LedgerWatch,
  pay,
  send,
  setFault,
  startBank,
  startShop,
  whileRunning,
  type Bank,
  type Reply,
  type Settings,
  type Shop,
} from "./support/shop.ts";

const KEYS = 100;
const DUPLICATES = 4;
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const isReplay = ({ headers }: Reply) => headers.get("idempotency-replayed") === "true";

describe.each(setups)("the contract on %s", (setup) => {
  let shops: readonly [Shop, Shop, Shop];
  let shop: Shop;
  let bank: Bank;
  let settings: Settings;
  let ledger: LedgerWatch;
  beforeAll(async () => {
    bank = await startBank({ BANK_DATA: `${newFolder()}/bank.db` });
    settings = { ...(await settingsOf(setup)), GATEWAY_URL: bank.url, GATEWAY_TIMEOUT_MS: "500" };
    // All at once, on an empty database: one of them migrates it. The third dawdles inside its keyed handlers.
    shops = await Promise.all([
      startShop(settings),
      startShop(settings),
      startShop({ ...settings, SHOP_HANDLER_DELAY_MS: "1500" }),
    ]);
    [shop] = shops;
    ledger = new LedgerWatch(bank.url);
  });
  afterAll(async () => {
    for (const each of shops) each.kill("SIGTERM");
    for (const each of shops) expect(await each.exited).toEqual({ code: 0, signal: null });
  });
  beforeEach(async () => {
    await setFault(bank.url, { mode: "normal" });
    await ledger.mark();
  });

  const at = (path: string, sending = {}, on: Shop = shop) => send(`${on.url}${path}`, sending);
  const settled = (key: string) =>
    until("the outcome is settled", async () => {
      const reply = await pay(shops[1], { key });
      if (reply.status !== 202) return reply;
      expect(isReplay(reply)).toBe(false);
      return undefined;
    });

  it("answers 401 without a token and 404 to another tenant, wherever something is found", async () => {
    const paid = await pay(shop);
    const order = await at("/orders", { key: randomUUID(), body: { productId: "prod-123", quantity: 1 } });
    await at("/users/u-tenant", { method: "PUT", body: { name: "Ann" } });
    const paths = [String(paid.headers.get("location")), String(order.headers.get("location")), "/users/u-tenant"];
    for (const path of paths) {
      expectProblem(await at(path, { token: "" }), 401, "unauthorized");
      expectProblem(await at(path, { token: "wrong" }), 401, "unauthorized");
      expectProblem(await at(path, { token: "demo-3" }), 404, "not-found");
      expect((await at(path, { token: "demo-2" })).status).toBe(200);
    }
    for (const path of ["/payments", "/orders"])
      expectProblem(await at(path, { token: "", body: {} }), 401, "unauthorized");
    expect((await at("/accounts/acc-tenant", { token: "" })).status).toBe(401);
    expectProblem(await at("/payments/%00"), 404, "not-found");
    expectProblem(await at("/accounts/a%00b"), 400, "validation");
  });

  it("POST /payments: 201, replay, other content, keys and bodies that cannot be right", async () => {
    const key = randomUUID();
    const first = await pay(shop, { key });
    expect(first.status, first.text).toBe(201);
    expect(first.body).toMatchObject({ ...booking, status: "captured" });
    expect(first.body.paymentId).toMatch(UUID_V7);
    expect(first.body.createdAt).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
    expect(first.headers.get("location")).toBe(`/payments/${String(first.body.paymentId)}`);
    expect(isReplay(first)).toBe(false);
    const again = await pay(shops[1], { key });
    expect([again.status, again.text, isReplay(again)]).toEqual([200, first.text, true]);
    expectProblem(await pay(shops[1], { key, body: { ...booking, amount: 1 } }), 409, "idempotency-key-reused");
    expectProblem(await at("/payments", { body: booking }), 400, "idempotency-key-required");
    expectProblem(await pay(shop, { key: "not-a-uuid" }), 400, "idempotency-key-invalid");
    const unused = randomUUID();
    for (const wrong of [
      { ...booking, amount: 0 },
      { ...booking, amount: 1.5 },
      { ...booking, amount: "12" },
      { ...booking, currency: "XYZ" },
      { ...booking, bookingId: "" },
      { ...booking, bookingId: "x".repeat(65) },
      { ...booking, bookingId: "a\0b" },
    ]) {
      expectProblem(await pay(shop, { key: unused, body: wrong }), 400, "validation");
    }
    expect((await pay(shop, { key: unused, body: { ...booking, bookingId: "本🚲".repeat(32) } })).status).toBe(201);
    expect(await ledger.charges()).toHaveLength(2);
  });

  it("POST /payments in flight: 409 with Retry-After on either shop, then the answer", async () => {
    const key = randomUUID();
    const slow = pay(shops[2], { key });
    await whileRunning(shop);
    const refusal = await pay(shop, { key });
    expectProblem(refusal, 409, "idempotency-in-flight");
    expect(Number(refusal.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    const first = await slow;
    expect(first.status, first.text).toBe(201);
    expect((await pay(shop, { key })).text).toBe(first.text);
    expect(await ledger.charges()).toHaveLength(1);
  });

  it("POST /payments declined: 402 stored and replayed as 402, then the booking is paid under a new key", async () => {
    await setFault(bank.url, { mode: "decline", calls: 1 });
    const key = randomUUID();
    const declined = await pay(shop, { key });
    expectProblem(declined, 402, "card-declined");
    const again = await pay(shops[1], { key });
    expect([again.status, again.text, isReplay(again)]).toEqual([402, declined.text, true]);
    expect((await pay(shop)).status).toBe(201);
    expect(await ledger.charges()).toHaveLength(1);
  });

  it.each(["timeout-but-charge", "timeout-before-charge", "drop-connection"])(
    "POST /payments, bank %s: interim 202 without the marker, then 200 with it, one charge",
    async (mode) => {
      await setFault(bank.url, { mode, calls: 1 });
      const key = randomUUID();
      const interim = await pay(shop, { key });
      expect(interim.status, interim.text).toBe(202);
      expect(interim.body).toMatchObject({ ...booking, status: "unknown" });
      const location = String(interim.headers.get("location"));
      expect(location).toBe(`/payments/${String(interim.body.paymentId)}`);
      expect(Number(interim.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
      expect(isReplay(interim)).toBe(false);
      expectProblem(await pay(shop, { key, body: { ...booking, amount: 2 } }), 409, "idempotency-key-reused");
      const answer = await settled(key);
      expect([answer.status, isReplay(answer), answer.headers.get("location")]).toEqual([200, true, location]);
      expect(answer.body).toEqual({ ...interim.body, status: "captured" });
      expect((await at(location)).body).toEqual(answer.body);
      expect(await ledger.charges()).toHaveLength(1);
    },
  );

  it("POST /payments, declined after an open outcome: 402, nothing charged", async () => {
    await setFault(bank.url, { mode: "timeout-before-charge", calls: 1 });
    const key = randomUUID();
    const interim = await pay(shop, { key });
    expect(interim.status).toBe(202);
    await setFault(bank.url, { mode: "decline" });
    const answer = await settled(key);
    expect([answer.status, answer.body.code]).toEqual([402, "card-declined"]);
    expect((await at(String(interim.headers.get("location")))).body.status).toBe("declined");
    expect(await ledger.charges()).toEqual([]);
  });

  it("GET /payments/:paymentId: ETag and 304", async () => {
    const location = String((await pay(shop)).headers.get("location"));
    const etag = String((await at(location)).headers.get("etag"));
    expect(etag).toMatch(/^"/);
    expect((await at(location, { headers: { "if-none-match": etag } })).status).toBe(304);
    expectProblem(await at(`/payments/${randomUUID()}`), 404, "not-found");
  });

  it("POST /payments/:paymentId/refunds: parts, the rest, too much, not captured; of twelve at once no more than fit", async () => {
    const location = String((await pay(shop)).headers.get("location"));
    const refund = (amount: number, key: string = randomUUID(), on: Shop = shop) =>
      at(`${location}/refunds`, { key, body: { amount } }, on);
    const key = randomUUID();
    const part = await refund(200, key);
    expect(part.status, part.text).toBe(201);
    const replay = await refund(200, key, shops[1]);
    expect([replay.status, replay.text, isReplay(replay)]).toEqual([201, part.text, true]);
    expectProblem(await refund(300, key), 422, "idempotency-key-reused");
    expect((await at(location)).body).toMatchObject({ status: "captured", refundedAmount: 200 });
    expectProblem(await refund(1001), 409, "amount-exceeds");
    const many = await Promise.all(
      Array.from({ length: 12 }, (_, index) => refund(250, randomUUID(), shops[index % 2])),
    );
    expect(many.filter(({ status }) => status === 201)).toHaveLength(4);
    expect((await at(location)).body).toMatchObject({ status: "refunded", refundedAmount: 1200 });
    expectProblem(await refund(1), 409, "illegal-transition");
    expectProblem(
      await at(`/payments/${randomUUID()}/refunds`, { key: randomUUID(), body: { amount: 1 } }),
      404,
      "not-found",
    );
  });

  it("POST /orders: 201, replay; while the first runs 202 with an operation to ask for; other content 409", async () => {
    const key = randomUUID();
    const order = { productId: "prod-123", quantity: 3 };
    const slow = at("/orders", { key, body: order }, shops[2]);
    await whileRunning(shop);
    const accepted = await at("/orders", { key, body: order }, shops[1]);
    expect(accepted.status, accepted.text).toBe(202);
    const operation = String(accepted.headers.get("location"));
    expect(operation).toMatch(/^\/operations\//);
    expect(Number(accepted.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect((await at(operation)).body).toMatchObject({ state: "processing" });
    expectProblem(await at(operation, { token: "demo-2" }), 404, "not-found");
    const first = await slow;
    expect(first.status, first.text).toBe(201);
    expect(first.body).toMatchObject({ ...order, status: "pending", version: 1, currency: "EUR" });
    expect(first.body.orderId).toMatch(UUID_V7);
    const { price } = (await at("/products/prod-123")).body;
    expect(first.body.amount).toBe(3 * Number(price));
    const again = await at("/orders", { key, body: order });
    expect([again.status, again.text, isReplay(again)]).toEqual([201, first.text, true]);
    const done = (await at(operation)).body;
    expect(done).toMatchObject({ state: "completed", result: first.headers.get("location") });
    expectProblem(await at("/orders", { key, body: { ...order, quantity: 4 } }), 409, "idempotency-key-reused");
    expectProblem(
      await at("/orders", { key: randomUUID(), body: { ...order, productId: "x" } }),
      400,
      "unknown-product",
    );
    expectProblem(await at("/operations/nothing"), 404, "not-found");
  });

  it("PUT /orders/:orderId: one of eight at once creates, the others find it; other content 409; ETag and 304", async () => {
    const path = `/orders/mine-${randomUUID().slice(0, 8)}`;
    const put = (quantity: number, on: Shop = shop) =>
      at(path, { method: "PUT", body: { productId: "prod-456", quantity } }, on);
    const all = await Promise.all(Array.from({ length: 8 }, (_, index) => put(2, shops[index % 2])));
    expect(all.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      200, 200, 200, 200, 200, 200, 200, 201,
    ]);
    expect(new Set(all.map(({ text }) => text)).size).toBe(1);
    expectProblem(await put(3), 409, "order-exists");
    const etag = String((await at(path)).headers.get("etag"));
    expect(etag).toMatch(/^"/);
    expect((await at(path, { headers: { "if-none-match": etag } })).status).toBe(304);
    expectProblem(await at("/orders/nothing"), 404, "not-found");
  });

  it("GET /products/:productId: price and stock", async () => {
    const { body } = await at("/products/prod-456");
    expect(body).toMatchObject({ productId: "prod-456", currency: "EUR" });
    expect(Number(body.price)).toBeGreaterThan(0);
    expect(Number.isInteger(body.stock)).toBe(true);
    expectProblem(await at("/products/nothing"), 404, "not-found");
  });

  it("POST /accounts/:accountId/transactions: one effect per id, whatever is sent at once; funds suffice or nothing moves", async () => {
    const path = `/accounts/acc-${randomUUID().slice(0, 8)}`;
    const post = (transactionId: string, type: string, amount: number, on: Shop = shop) =>
      at(`${path}/transactions`, { body: { transactionId, type, amount } }, on);
    expect((await at(path)).body).toMatchObject({ balance: 0, version: 0 });
    // Every id twice, on both shops, all at once, on an account that is not there yet.
    const deposits = await Promise.all(
      Array.from({ length: 20 }, (_, index) => post(`t-${index >> 1}`, "deposit", 10, shops[index % 2])),
    );
    expect(deposits.filter(({ status }) => status === 201)).toHaveLength(10);
    expect(deposits.filter(({ status }) => status === 200)).toHaveLength(10);
    expect((await at(path)).body).toMatchObject({ balance: 100, version: 10 });
    expectProblem(await post("t-1", "deposit", 11), 409, "transaction-exists");
    expectProblem(await post("w-0", "withdrawal", 101), 409, "insufficient-funds");
    const withdrawals = await Promise.all(
      Array.from({ length: 12 }, (_, index) => post(`w-${index}`, "withdrawal", 30, shops[index % 2])),
    );
    expect(withdrawals.filter(({ status }) => status === 201)).toHaveLength(3);
    for (const reply of withdrawals.filter(({ status }) => status !== 201)) {
      expectProblem(reply, 409, "insufficient-funds");
    }
    expect((await at(path)).body).toMatchObject({ balance: 10 });
    // The same refused withdrawal many times at once: refused each time, and its id stays free.
    const refused = await Promise.all(
      Array.from({ length: 6 }, (_, index) => post("w-x", "withdrawal", 11, shops[index % 2])),
    );
    for (const reply of refused) expectProblem(reply, 409, "insufficient-funds");
    expect((await post("w-x", "withdrawal", 10)).status).toBe(201);
    expect((await post("w-x ", "deposit", 5)).status).toBe(201);
    expectProblem(
      await at(`${path}/transactions`, { body: { transactionId: "t", type: "gift", amount: 1 } }),
      400,
      "validation",
    );
  });

  it("PUT /accounts/:accountId/balance: of those who saw the same balance one sets it", async () => {
    const path = `/accounts/cas-${randomUUID().slice(0, 8)}`;
    const set = (previousBalance: number, newBalance: number, on: Shop = shop) =>
      at(`${path}/balance`, { method: "PUT", body: { previousBalance, newBalance } }, on);
    const all = await Promise.all(Array.from({ length: 8 }, (_, index) => set(0, 100 + index, shops[index % 2])));
    expect(all.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const reply of all.filter(({ status }) => status !== 200)) expectProblem(reply, 409, "balance-changed");
    const { balance } = (await at(path)).body as { balance: number };
    expect((await set(0, balance)).status).toBe(200);
    expect((await set(balance, 7)).body).toMatchObject({ balance: 7, version: 2 });
    expectProblem(await set(balance, 8), 409, "balance-changed");
  });

  it("/users/:userId: preconditions, one writer of many, the keyed PATCH replays, DELETE", async () => {
    const path = `/users/u-${randomUUID().slice(0, 8)}`;
    const put = (name: string, headers = {}, on: Shop = shop) =>
      at(path, { method: "PUT", body: { name }, headers }, on);
    expectProblem(await at(path), 404, "not-found");
    const created = await Promise.all(
      Array.from({ length: 6 }, (_, index) => put(`n-${index}`, { "if-none-match": "*" }, shops[index % 2])),
    );
    expect(created.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      201, 412, 412, 412, 412, 412,
    ]);
    const tag = String((await at(path)).headers.get("etag"));
    expectProblem(await put("Ann"), 428, "precondition-required");
    expectProblem(await put("Ann", { "if-match": `W/${tag}` }), 412, "precondition-failed");
    const writers = await Promise.all(
      Array.from({ length: 6 }, (_, index) => put(`m-${index}`, { "if-match": tag }, shops[index % 2])),
    );
    expect(writers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      200, 412, 412, 412, 412, 412,
    ]);
    const newest = await at(path);
    expect(newest.body.name).toBe(writers.find(({ status }) => status === 200)?.body.name);
    const key = randomUUID();
    const patch = (on: Shop) =>
      at(
        path,
        {
          method: "PATCH",
          key,
          body: { city: "京都 🏯" },
          headers: { "if-match": String(newest.headers.get("etag")) },
        },
        on,
      );
    const patched = await patch(shop);
    expect(patched.status, patched.text).toBe(200);
    const replay = await patch(shops[1]);
    expect([replay.status, replay.text, isReplay(replay)]).toEqual([200, patched.text, true]);
    expect((await at(path)).body).toEqual(patched.body);
    const gone = await at(path, { method: "DELETE", headers: { "if-match": String(patched.headers.get("etag")) } });
    expect(gone.status).toBe(204);
    expectProblem(await at(path), 404, "not-found");
    expect((await put("again")).status).toBe(201);
  });

  it(`charges each of ${KEYS} keys once under ${DUPLICATES} simultaneous requests on two shops`, async () => {
    const keys = Array.from({ length: KEYS }, () => randomUUID());
    const answersTo = async (key: string) =>
      Promise.all(
        Array.from({ length: DUPLICATES }, (_, index) =>
          until("an answer", async () => {
            const reply = await pay(shops[index % 2] as Shop, { key });
            if (reply.status === 200 || reply.status === 201) return reply;
            // A busy machine may let the bank's answer come too late: then the outcome is open for a moment.
            if (reply.status === 202) return undefined;
            expectProblem(reply, 409, "idempotency-in-flight");
            return undefined;
          }),
        ),
      );
    for (let from = 0; from < KEYS; from += 20) {
      for (const replies of await Promise.all(keys.slice(from, from + 20).map(answersTo))) {
        expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
        expect(replies.filter(({ status }) => status === 201).length).toBeLessThanOrEqual(1);
      }
    }
    const charges = await ledger.charges();
    expect(charges).toHaveLength(KEYS);
    expect(new Set(charges.map(({ reference }) => reference)).size).toBe(KEYS);
  });

  it("POST /payments, the shop killed by SIGKILL inside it: 409 until its lease ends, then one answer and one charge", async () => {
    const victim = await startShop({ ...settings, IDEMPOTENCY_LEASE_MS: "1500", SHOP_HANDLER_DELAY_MS: "60000" });
    const key = randomUUID();
    const lost = pay(victim, { key }).catch(() => "connection lost");
    await whileRunning(shop);
    victim.kill("SIGKILL");
    expect(await lost).toBe("connection lost");
    const answer = await until("the lease ends", async () => {
      const reply = await pay(shop, { key });
      if (reply.status === 201) return reply;
      expectProblem(reply, 409, "idempotency-in-flight");
      return undefined;
    });
    expect((await pay(shops[1], { key })).text).toBe(answer.text);
    expect(await ledger.charges()).toHaveLength(1);
  });

  it("needs no token for what it publishes, shows its counts, and has no console", async () => {
    for (const path of ["/healthz", "/readyz", "/metrics", "/openapi.json", "/.well-known/idempotency", "/"]) {
      expect((await at(path, { token: "" })).status, path).toBe(200);
    }
    expect((await at("/metrics", { token: "" })).text).toMatch(
      /^idempotency_store_record_count\{state="completed"\} [1-9]/m,
    );
    expectProblem(await at("/console", { token: "" }), 404, "not-found");
  });
});
