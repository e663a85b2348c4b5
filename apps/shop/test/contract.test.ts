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

  describe("whatever is found is found by its tenant alone", () => {
    const paths = new Map<string, string>();
    beforeAll(async () => {
      const order = { productId: "prod-123", quantity: 1 };
      await at("/users/u-tenant", { method: "PUT", body: { name: "Ann" } });
      paths.set("payment", String((await pay(shop)).headers.get("location")));
      paths.set("order", String((await at("/orders", { key: randomUUID(), body: order })).headers.get("location")));
      paths.set("user", "/users/u-tenant");
    });

    describe.each(["payment", "order", "user"])("%s", (kind) => {
      it.each([
        ["no token", "", 401, "unauthorized"],
        ["a wrong token", "wrong", 401, "unauthorized"],
        ["the token of another tenant", "demo-3", 404, "not-found"],
      ] as const)("%s: %s %i", async (_whose, token, status, code) => {
        expectProblem(await at(String(paths.get(kind)), { token }), status, code);
      });

      it("another token of the tenant: 200", async () => {
        expect((await at(String(paths.get(kind)), { token: "demo-2" })).status).toBe(200);
      });
    });

    it.each(["/payments", "/orders"])("POST %s without a token: 401", async (path) => {
      expectProblem(await at(path, { token: "", body: {} }), 401, "unauthorized");
    });

    it("an account without a token: 401", async () => {
      expect((await at("/accounts/acc-tenant", { token: "" })).status).toBe(401);
    });

    it.each([
      ["/payments/%00", 404, "not-found"],
      ["/accounts/a%00b", 400, "validation"],
    ] as const)("a name that no database takes, %s: %i", async (path, status, code) => {
      expectProblem(await at(path), status, code);
    });
  });

  describe("POST /payments", () => {
    it("201 with the payment, its place and its time", async () => {
      const first = await pay(shop);
      expect(first.status, first.text).toBe(201);
      expect(first.body).toMatchObject({ ...booking, status: "captured" });
      expect(first.body.paymentId).toMatch(UUID_V7);
      expect(first.body.createdAt).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
      expect(first.headers.get("location")).toBe(`/payments/${String(first.body.paymentId)}`);
      expect(isReplay(first)).toBe(false);
    });

    it("the same key on the other shop: 200, the same bytes, one charge", async () => {
      const key = randomUUID();
      const first = await pay(shop, { key });
      const again = await pay(shops[1], { key });
      expect([again.status, again.text, isReplay(again)]).toEqual([200, first.text, true]);
      expect(await ledger.charges()).toHaveLength(1);
    });

    it("the same key with other content: 409, one charge", async () => {
      const key = randomUUID();
      await pay(shop, { key });
      expectProblem(await pay(shops[1], { key, body: { ...booking, amount: 1 } }), 409, "idempotency-key-reused");
      expect(await ledger.charges()).toHaveLength(1);
    });

    it("no key: 400, nothing charged", async () => {
      expectProblem(await at("/payments", { body: booking }), 400, "idempotency-key-required");
      expect(await ledger.charges()).toEqual([]);
    });

    it("a key that is no UUID: 400, nothing charged", async () => {
      expectProblem(await pay(shop, { key: "not-a-uuid" }), 400, "idempotency-key-invalid");
      expect(await ledger.charges()).toEqual([]);
    });

    it.each([
      ["amount 0", { amount: 0 }],
      ["half a cent", { amount: 1.5 }],
      ["an amount that is a text", { amount: "12" }],
      ["a currency that is none", { currency: "XYZ" }],
      ["an empty booking", { bookingId: "" }],
      ["a booking of 65 characters", { bookingId: "x".repeat(65) }],
      ["a booking with NUL", { bookingId: "a\0b" }],
    ])("%s: 400, nothing charged, and the key stays free", async (_what, wrong) => {
      const key = randomUUID();
      expectProblem(await pay(shop, { key, body: { ...booking, ...wrong } }), 400, "validation");
      expect(await ledger.charges()).toEqual([]);
      expect((await pay(shop, { key })).status).toBe(201);
    });

    it("a booking of 64 characters outside of ASCII: 201, one charge", async () => {
      expect((await pay(shop, { body: { ...booking, bookingId: "本🚲".repeat(32) } })).status).toBe(201);
      expect(await ledger.charges()).toHaveLength(1);
    });
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
  });

  it("GET /payments/:paymentId that nobody made: 404", async () => {
    expectProblem(await at(`/payments/${randomUUID()}`), 404, "not-found");
  });

  describe("POST /payments/:paymentId/refunds", () => {
    const paid = async () => String((await pay(shop)).headers.get("location"));
    const refund = (location: string, amount: number, key: string = randomUUID(), on: Shop = shop) =>
      at(`${location}/refunds`, { key, body: { amount } }, on);

    it("a part: 201, and the payment tells it", async () => {
      const location = await paid();
      const part = await refund(location, 200);
      expect(part.status, part.text).toBe(201);
      expect((await at(location)).body).toMatchObject({ status: "captured", refundedAmount: 200 });
    });

    it("the same key: 201 on the other shop, the same bytes, one refund", async () => {
      const location = await paid();
      const key = randomUUID();
      const part = await refund(location, 200, key);
      const replay = await refund(location, 200, key, shops[1]);
      expect([replay.status, replay.text, isReplay(replay)]).toEqual([201, part.text, true]);
      expect((await at(location)).body).toMatchObject({ refundedAmount: 200 });
    });

    it("the same key with another amount: 422", async () => {
      const location = await paid();
      const key = randomUUID();
      await refund(location, 200, key);
      expectProblem(await refund(location, 300, key), 422, "idempotency-key-reused");
    });

    it("more than is left: 409", async () => {
      const location = await paid();
      await refund(location, 200);
      expectProblem(await refund(location, 1001), 409, "amount-exceeds");
    });

    it("of twelve at once no more than fit, and then none", async () => {
      const location = await paid();
      await refund(location, 200);
      const many = await Promise.all(
        Array.from({ length: 12 }, (_, index) => refund(location, 250, randomUUID(), shops[index % 2])),
      );
      expect(many.filter(({ status }) => status === 201)).toHaveLength(4);
      expect((await at(location)).body).toMatchObject({ status: "refunded", refundedAmount: 1200 });
      expectProblem(await refund(location, 1), 409, "illegal-transition");
    });

    it("of a payment that nobody made: 404", async () => {
      expectProblem(await refund(`/payments/${randomUUID()}`, 1), 404, "not-found");
    });
  });

  describe("POST /orders", () => {
    const order = { productId: "prod-123", quantity: 3 };

    it("201 with the order at its price", async () => {
      const first = await at("/orders", { key: randomUUID(), body: order });
      expect(first.status, first.text).toBe(201);
      expect(first.body).toMatchObject({ ...order, status: "pending", version: 1, currency: "EUR" });
      expect(first.body.orderId).toMatch(UUID_V7);
      const { price } = (await at("/products/prod-123")).body;
      expect(first.body.amount).toBe(3 * Number(price));
    });

    it("the same key: 201, the same bytes", async () => {
      const key = randomUUID();
      const first = await at("/orders", { key, body: order });
      const again = await at("/orders", { key, body: order }, shops[1]);
      expect([again.status, again.text, isReplay(again)]).toEqual([201, first.text, true]);
    });

    it("while the first runs: 202 with an operation to ask for, which ends with its result", async () => {
      const key = randomUUID();
      const slow = at("/orders", { key, body: order }, shops[2]);
      await whileRunning(shop);
      const accepted = await at("/orders", { key, body: order }, shops[1]);
      expect(accepted.status, accepted.text).toBe(202);
      const operation = String(accepted.headers.get("location"));
      expect(operation).toMatch(/^\/operations\//);
      expect(Number(accepted.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
      expect((await at(operation)).body).toMatchObject({ state: "processing" });
      expectProblem(await at(operation, { token: "demo-2" }), 404, "not-found");
      const result = (await slow).headers.get("location");
      expect((await at(operation)).body).toMatchObject({ state: "completed", result });
    });

    it("the same key with other content: 409", async () => {
      const key = randomUUID();
      await at("/orders", { key, body: order });
      expectProblem(await at("/orders", { key, body: { ...order, quantity: 4 } }), 409, "idempotency-key-reused");
    });

    it("a product that nobody sells: 400", async () => {
      const body = { ...order, productId: "x" };
      expectProblem(await at("/orders", { key: randomUUID(), body }), 400, "unknown-product");
    });

    it("an operation that nobody began: 404", async () => {
      expectProblem(await at("/operations/nothing"), 404, "not-found");
    });
  });

  describe("PUT /orders/:orderId", () => {
    const newPath = () => `/orders/mine-${randomUUID().slice(0, 8)}`;
    const put = (path: string, quantity: number, on: Shop = shop) =>
      at(path, { method: "PUT", body: { productId: "prod-456", quantity } }, on);

    it("one of eight at once creates, the others find it", async () => {
      const path = newPath();
      const all = await Promise.all(Array.from({ length: 8 }, (_, index) => put(path, 2, shops[index % 2])));
      expect(all.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
        200, 200, 200, 200, 200, 200, 200, 201,
      ]);
      expect(new Set(all.map(({ text }) => text)).size).toBe(1);
    });

    it("other content: 409", async () => {
      const path = newPath();
      await put(path, 2);
      expectProblem(await put(path, 3), 409, "order-exists");
    });

    it("ETag and 304", async () => {
      const path = newPath();
      await put(path, 2);
      const etag = String((await at(path)).headers.get("etag"));
      expect(etag).toMatch(/^"/);
      expect((await at(path, { headers: { "if-none-match": etag } })).status).toBe(304);
    });

    it("an order that nobody made: 404", async () => {
      expectProblem(await at("/orders/nothing"), 404, "not-found");
    });
  });

  it("GET /products/:productId: price and stock", async () => {
    const { body } = await at("/products/prod-456");
    expect(body).toMatchObject({ productId: "prod-456", currency: "EUR" });
    expect(Number(body.price)).toBeGreaterThan(0);
    expect(Number.isInteger(body.stock)).toBe(true);
  });

  it("GET /products/:productId that nobody sells: 404", async () => {
    expectProblem(await at("/products/nothing"), 404, "not-found");
  });

  describe("POST /accounts/:accountId/transactions", () => {
    const newPath = () => `/accounts/acc-${randomUUID().slice(0, 8)}`;
    const post = (path: string, transactionId: string, type: string, amount: number, on: Shop = shop) =>
      at(`${path}/transactions`, { body: { transactionId, type, amount } }, on);

    it("an account that is not there yet is empty", async () => {
      expect((await at(newPath())).body).toMatchObject({ balance: 0, version: 0 });
    });

    it("one effect per id: every id twice, on both shops, all at once, on an account that is not there yet", async () => {
      const path = newPath();
      const deposits = await Promise.all(
        Array.from({ length: 20 }, (_, index) => post(path, `t-${index >> 1}`, "deposit", 10, shops[index % 2])),
      );
      expect(deposits.filter(({ status }) => status === 201)).toHaveLength(10);
      expect(deposits.filter(({ status }) => status === 200)).toHaveLength(10);
      expect((await at(path)).body).toMatchObject({ balance: 100, version: 10 });
    });

    it("an id with other content: 409", async () => {
      const path = newPath();
      await post(path, "t-1", "deposit", 10);
      expectProblem(await post(path, "t-1", "deposit", 11), 409, "transaction-exists");
    });

    it("funds suffice or nothing moves: of twelve withdrawals at once as many as the balance has", async () => {
      const path = newPath();
      await post(path, "t-0", "deposit", 100);
      expectProblem(await post(path, "w-0", "withdrawal", 101), 409, "insufficient-funds");
      const withdrawals = await Promise.all(
        Array.from({ length: 12 }, (_, index) => post(path, `w-${index}`, "withdrawal", 30, shops[index % 2])),
      );
      expect(withdrawals.filter(({ status }) => status === 201)).toHaveLength(3);
      for (const reply of withdrawals.filter(({ status }) => status !== 201)) {
        expectProblem(reply, 409, "insufficient-funds");
      }
      expect((await at(path)).body).toMatchObject({ balance: 10 });
    });

    it("a refused withdrawal many times at once: refused each time, and its id stays free", async () => {
      const path = newPath();
      await post(path, "t-0", "deposit", 10);
      const refused = await Promise.all(
        Array.from({ length: 6 }, (_, index) => post(path, "w-x", "withdrawal", 11, shops[index % 2])),
      );
      for (const reply of refused) expectProblem(reply, 409, "insufficient-funds");
      expect((await post(path, "w-x", "withdrawal", 10)).status).toBe(201);
    });

    it("ids that differ by a trailing space are two", async () => {
      const path = newPath();
      expect((await post(path, "w-x", "deposit", 5)).status).toBe(201);
      expect((await post(path, "w-x ", "deposit", 5)).status).toBe(201);
    });

    it("a type that is none: 400", async () => {
      expectProblem(await post(newPath(), "t", "gift", 1), 400, "validation");
    });
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

  describe("/users/:userId", () => {
    const newPath = () => `/users/u-${randomUUID().slice(0, 8)}`;
    const put = (path: string, name: string, headers = {}, on: Shop = shop) =>
      at(path, { method: "PUT", body: { name }, headers }, on);
    const tagOf = async (path: string) => String((await at(path)).headers.get("etag"));
    const patch = (path: string, key: string, tag: string, on: Shop = shop) =>
      at(path, { method: "PATCH", key, body: { city: "京都 🏯" }, headers: { "if-match": tag } }, on);

    it("a user that nobody made: 404", async () => {
      expectProblem(await at(newPath()), 404, "not-found");
    });

    it("If-None-Match: one of six at once creates", async () => {
      const path = newPath();
      const created = await Promise.all(
        Array.from({ length: 6 }, (_, index) => put(path, `n-${index}`, { "if-none-match": "*" }, shops[index % 2])),
      );
      expect(created.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
        201, 412, 412, 412, 412, 412,
      ]);
    });

    it("PUT of what is there without a precondition: 428", async () => {
      const path = newPath();
      await put(path, "Ann");
      expectProblem(await put(path, "Ann"), 428, "precondition-required");
    });

    it("a weak ETag in If-Match: 412", async () => {
      const path = newPath();
      await put(path, "Ann");
      expectProblem(await put(path, "Ann", { "if-match": `W/${await tagOf(path)}` }), 412, "precondition-failed");
    });

    it("If-Match: one of six at once writes, and its write is there", async () => {
      const path = newPath();
      await put(path, "Ann");
      const tag = await tagOf(path);
      const writers = await Promise.all(
        Array.from({ length: 6 }, (_, index) => put(path, `m-${index}`, { "if-match": tag }, shops[index % 2])),
      );
      expect(writers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
        200, 412, 412, 412, 412, 412,
      ]);
      expect((await at(path)).body.name).toBe(writers.find(({ status }) => status === 200)?.body.name);
    });

    it("a keyed PATCH: 200, replayed with the same bytes though its precondition is over", async () => {
      const path = newPath();
      await put(path, "Ann");
      const [key, tag] = [randomUUID(), await tagOf(path)];
      const patched = await patch(path, key, tag);
      expect(patched.status, patched.text).toBe(200);
      const replay = await patch(path, key, tag, shops[1]);
      expect([replay.status, replay.text, isReplay(replay)]).toEqual([200, patched.text, true]);
      expect((await at(path)).body).toEqual(patched.body);
    });

    it("DELETE with the ETag that a PATCH gave: 204, then 404, and the name is free", async () => {
      const path = newPath();
      await put(path, "Ann");
      const patched = await patch(path, randomUUID(), await tagOf(path));
      const gone = await at(path, { method: "DELETE", headers: { "if-match": String(patched.headers.get("etag")) } });
      expect(gone.status).toBe(204);
      expectProblem(await at(path), 404, "not-found");
      expect((await put(path, "again")).status).toBe(201);
    });
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

  it.each(["/healthz", "/readyz", "/metrics", "/openapi.json", "/.well-known/idempotency", "/"])(
    "needs no token for %s",
    async (path) => {
      expect((await at(path, { token: "" })).status).toBe(200);
    },
  );

  it("shows its counts", async () => {
    await pay(shop);
    await until("the counts are taken anew", async () =>
      /^idempotency_store_record_count\{state="completed"\} [1-9]/m.test((await at("/metrics", { token: "" })).text),
    );
  });

  it("shows its console to who sits at this machine", async () => {
    const page = await at("/console/", { token: "" });
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  });
});
