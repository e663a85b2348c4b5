import { randomUUID } from "node:crypto";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { expectProblem } from "./support/problem.ts";
import { newFolder } from "./support/program.ts";
import {
  bankOf,
  booking,
  charges,
  LedgerWatch,
  pay,
  send,
  setFault,
  startBank,
  startShop,
  type Settings,
  type Shop,
} from "./support/shop.ts";
import { until } from "./support/poll.ts";

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("POST /payments", () => {
  let shop: Shop;
  let bank: string;
  let ledger: LedgerWatch;
  const open = async (settings: Settings = {}) => {
    shop = await startShop({ SHOP_DATA: newFolder(), ...settings });
    bank = await bankOf(shop);
    ledger = new LedgerWatch(bank);
  };

  describe("with the usual settings", () => {
    beforeAll(() => open());
    beforeEach(() => ledger.mark());

    it("K-01 pays: 201, Location, the payment, one charge under a reference", async () => {
      const reply = await pay(shop);
      expect(reply.status, reply.text).toBe(201);
      const { paymentId, createdAt } = reply.body;
      expect(reply.body).toEqual({ paymentId, ...booking, status: "captured", createdAt });
      expect(paymentId).toMatch(UUID_V7);
      expect(new Date(String(createdAt)).toISOString()).toBe(createdAt);
      expect(reply.headers.get("location")).toBe(`/payments/${String(paymentId)}`);
      expect(reply.headers.get("idempotency-replayed")).toBeNull();
      const [charge, ...others] = await ledger.charges();
      expect(others).toEqual([]);
      expect(charge).toMatchObject({ amount: booking.amount, currency: booking.currency });
      expect(charge?.reference).not.toBe("");
    });

    it("K-02 replays: 200, the same bytes and Location, the marker, no second charge", async () => {
      const key = randomUUID();
      const first = await pay(shop, { key });
      const reordered = { currency: "EUR", amount: 1200, bookingId: "booking-1" };
      for (const sending of [
        {},
        { body: reordered },
        { rawBody: ' { "amount":1200.0,"currency":"EUR",\n"bookingId":"booking-1"}' },
      ]) {
        const again = await pay(shop, { key, ...sending });
        expect(again.status, again.text).toBe(200);
        expect(again.text).toBe(first.text);
        expect(again.headers.get("location")).toBe(first.headers.get("location"));
        expect(again.headers.get("idempotency-replayed")).toBe("true");
      }
      expect(await ledger.charges()).toHaveLength(1);
    });

    it("replays to the key in upper case and as a structured string", async () => {
      const key = randomUUID();
      await pay(shop, { key });
      expect((await pay(shop, { key: key.toUpperCase() })).status).toBe(200);
      expect((await pay(shop, { key: `"${key}"` })).status).toBe(200);
      expect(await ledger.charges()).toHaveLength(1);
    });

    it("ignores members beyond the three, in the payment and in the comparison", async () => {
      const key = randomUUID();
      const first = await pay(shop, { key, body: { ...booking, tenant: "globex", user: "user-3", note: 1 } });
      expect(first.status).toBe(201);
      expect((await pay(shop, { key, body: { ...booking, note: 2 } })).status).toBe(200);
      const path = `${shop.url}/payments/${String(first.body.paymentId)}`;
      expect((await send(path)).status).toBe(200);
      expect((await send(path, { token: "demo-3" })).status).toBe(404);
    });

    it("F-01 answers 409 idempotency-key-reused to other content, and still replays the original", async () => {
      const key = randomUUID();
      await pay(shop, { key });
      for (const change of [{ bookingId: "booking-2" }, { amount: 1201 }, { currency: "USD" }]) {
        expectProblem(await pay(shop, { key, body: { ...booking, ...change } }), 409, "idempotency-key-reused");
      }
      expect((await pay(shop, { key })).status).toBe(200);
      expect(await ledger.charges()).toHaveLength(1);
    });

    it("K-03 answers 400 to no key, and to a key that is not a UUID v4, and charges nothing", async () => {
      const keyless = await send(`${shop.url}/payments`, { body: booking });
      expectProblem(keyless, 400, "idempotency-key-required");
      const v7 = "0197f0c4-7a30-7cc0-8a52-1f6f3a3c9e11";
      for (const key of ["order-1", v7, "", randomUUID().slice(1), `${randomUUID()}, ${randomUUID()}`]) {
        const reply = await pay(shop, { key });
        expect(reply.status, key).toBe(400);
        expect(String(reply.body.code), key).toMatch(/^idempotency-key-(invalid|required)$/);
      }
      expectProblem(await pay(shop, { key: v7 }), 400, "idempotency-key-invalid");
      expect(await ledger.charges()).toEqual([]);
    });

    it("E-01 answers 400 validation to what cannot be paid, and leaves the key free", async () => {
      const key = randomUUID();
      const wrong: readonly unknown[] = [
        {},
        [],
        null,
        "pay",
        { ...booking, amount: 0 },
        { ...booking, amount: -1 },
        { ...booking, amount: 1.5 },
        { ...booking, amount: "1200" },
        { ...booking, amount: null },
        { ...booking, currency: "eur" },
        { ...booking, currency: "EURO" },
        { ...booking, currency: "ABC" },
        { ...booking, currency: "XXX" },
        { ...booking, currency: 978 },
        { ...booking, bookingId: "" },
        { ...booking, bookingId: "b".repeat(65) },
        { ...booking, bookingId: 7 },
        { bookingId: "booking-1", amount: 1200 },
      ];
      for (const body of wrong) {
        const refused = await pay(shop, { key, body });
        expectProblem(refused, 400, "validation");
        expect(refused.body.faults).toContainEqual({ member: expect.any(String), expected: expect.any(String) });
      }
      expectProblem(
        await pay(shop, { key, rawBody: `{"bookingId":"b","amount":9007199254740993,"currency":"EUR"}` }),
        400,
        "validation",
      );
      expectProblem(await pay(shop, { key, rawBody: "{" }), 400, "validation");
      expectProblem(await pay(shop, { key, rawBody: "" }), 400, "validation");
      expect(await ledger.charges()).toEqual([]);
      expect((await pay(shop, { key })).status).toBe(201);
    });

    it("takes 64 characters of any script, and currencies whose minor unit is not a hundredth", async () => {
      const bookingId = "予".repeat(63) + "🎫";
      const reply = await pay(shop, { body: { bookingId, amount: Number.MAX_SAFE_INTEGER, currency: "JPY" } });
      expect(reply.status, reply.text).toBe(201);
      expect(reply.body).toMatchObject({ bookingId, amount: Number.MAX_SAFE_INTEGER, currency: "JPY" });
    });

    it("answers 415 to another media type, 413 to a body too large, and leaves the key free", async () => {
      const key = randomUUID();
      const form = { rawBody: "bookingId=b", headers: { "content-type": "application/x-www-form-urlencoded" } };
      expectProblem(await pay(shop, { key, ...form }), 415, "unsupported-media-type");
      const large = JSON.stringify({ ...booking, note: "x".repeat(100_000) });
      expectProblem(await pay(shop, { key, rawBody: large }), 413, "request-too-large");
      expect((await pay(shop, { key })).status).toBe(201);
    });

    it("declines: 402 card-declined, stored, replayed as 402, and the booking can be paid under a new key", async () => {
      await setFault(bank, { mode: "decline", calls: 1 });
      const key = randomUUID();
      const first = await pay(shop, { key });
      expectProblem(first, 402, "card-declined");
      const again = await pay(shop, { key });
      expect(again.status).toBe(402);
      expect(again.text).toBe(first.text);
      expect(again.headers.get("content-type")).toBe("application/problem+json");
      expect(again.headers.get("idempotency-replayed")).toBe("true");
      expect(await ledger.charges()).toEqual([]);
      expect((await pay(shop)).status).toBe(201);
      const declined = await send(`${shop.url}/payments/${String(first.body.paymentId)}`);
      expect(declined.body).toMatchObject({ status: "declined" });
    });

    it("K-05 the same booking under two keys is two payments", async () => {
      const [one, two] = [await pay(shop), await pay(shop)];
      expect([one.status, two.status]).toEqual([201, 201]);
      expect(one.body.paymentId).not.toBe(two.body.paymentId);
      expect(await ledger.charges()).toHaveLength(2);
    });

    it("S-01 one key of two users, and of two tenants, is two keys", async () => {
      const key = randomUUID();
      const replies = [];
      for (const token of ["demo-1", "demo-2", "demo-3"]) replies.push(await pay(shop, { key, token }));
      expect(replies.map(({ status }) => status)).toEqual([201, 201, 201]);
      expect(new Set(replies.map(({ body }) => body.paymentId)).size).toBe(3);
      expect(await ledger.charges()).toHaveLength(3);
    });

    it("answers 401 with a challenge without a known token, before it looks at anything else", async () => {
      for (const headers of [{}, { authorization: "Bearer nobody" }, { authorization: "Basic ZGVtby0xOg==" }]) {
        const reply = await pay(shop, { token: "", headers });
        expectProblem(reply, 401, "unauthorized");
        expect(reply.headers.get("www-authenticate")).toMatch(/^Bearer /);
      }
      expectProblem(await send(`${shop.url}/payments/x`, { token: "" }), 401, "unauthorized");
      expect(await ledger.charges()).toEqual([]);
    });
  });

  it("C-02 answers 409 idempotency-in-flight with Retry-After while the first request runs, then replays", async () => {
    await open({ SHOP_HANDLER_DELAY_MS: "1500" });
    const key = randomUUID();
    const first = pay(shop, { key });
    const busy = await until("the second request meets the first", async () => {
      const reply = await pay(shop, { key });
      return reply.status === 409 ? reply : undefined;
    });
    expectProblem(busy, 409, "idempotency-in-flight");
    expect(Number(busy.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expectProblem(await pay(shop, { key, body: { ...booking, amount: 1 } }), 409, "idempotency-key-reused");
    const { text } = await first;
    const replay = await pay(shop, { key });
    expect(replay.status).toBe(200);
    expect(replay.text).toBe(text);
    expect(await ledger.charges()).toHaveLength(1);
  });

  it("T-01 an expired key runs as new: 201, a new payment, also with other content", async () => {
    await open({ IDEMPOTENCY_RETENTION_MS: "400", BANK_RETENTION_MS: "1" });
    const key = randomUUID();
    const first = await pay(shop, { key });
    const second = await until("expired", async () => {
      const reply = await pay(shop, { key });
      return reply.status === 201 ? reply : undefined;
    });
    expect(second.headers.get("idempotency-replayed")).toBeNull();
    expect(second.body.paymentId).not.toBe(first.body.paymentId);
    const other = await until("expired again", async () => {
      const reply = await pay(shop, { key, body: { ...booking, amount: 7 } });
      return reply.status === 201 ? reply : undefined;
    });
    expect(other.body).toMatchObject({ amount: 7 });
    expect(await ledger.charges()).toHaveLength(3);
  });

  it("T-01 an expired key that the bank still remembers is a new payment, but never a second charge", async () => {
    await open({ IDEMPOTENCY_RETENTION_MS: "400", IDEMPOTENCY_SWEEP_MS: "200" });
    const key = randomUUID();
    const first = await pay(shop, { key });
    const second = await until("expired", async () => {
      const reply = await pay(shop, { key });
      return reply.status === 201 ? reply : undefined;
    });
    expect(second.body.paymentId).not.toBe(first.body.paymentId);
    expect(await ledger.charges()).toHaveLength(1);
    await until("the sweep removes the key", async () =>
      (await send(`${shop.url}/metrics`)).text.includes('idempotency_store_record_count{state="completed"} 0\n'),
    );
  });

  it("E-01 answers 503 while the bank cannot be reached, charges nothing, and pays when it is back", async () => {
    const folder = newFolder();
    const first = await startBank({ BANK_DATA: `${folder}/bank.db` });
    const port = new URL(first.url).port;
    shop = await startShop({ SHOP_DATA: folder, GATEWAY_URL: first.url });
    first.kill("SIGKILL");
    await first.exited;
    const key = randomUUID();
    const refused = await pay(shop, { key });
    expectProblem(refused, 503, "gateway-unavailable");
    expect(refused.headers.get("retry-after")).toBe("1");
    const second = await startBank({ BANK_DATA: `${folder}/bank.db`, BANK_PORT: port });
    expect((await pay(shop, { key })).status).toBe(201);
    expect(await charges(second.url)).toHaveLength(1);
  });
});

describe("GET /payments/:paymentId", () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await startShop({ SHOP_DATA: newFolder() });
  });

  it("gives the payment with a strong ETag, and 304 to whoever has it", async () => {
    const paid = await pay(shop);
    const url = `${shop.url}${String(paid.headers.get("location"))}`;
    const read = await send(url);
    expect(read.status).toBe(200);
    expect(read.body).toEqual(paid.body);
    const etag = String(read.headers.get("etag"));
    expect(etag).toMatch(/^"[^"]+"$/);
    for (const condition of [etag, `"other", ${etag}`, `W/${etag}`, "*"]) {
      const same = await send(url, { headers: { "if-none-match": condition } });
      expect(same.status, condition).toBe(304);
      expect(same.headers.get("etag")).toBe(etag);
      expect(same.text).toBe("");
    }
    expect((await send(url, { headers: { "if-none-match": '"other"' } })).status).toBe(200);
    const head = await send(url, { method: "HEAD" });
    expect([head.status, head.text, head.headers.get("etag")]).toEqual([200, "", etag]);
  });

  it("belongs to the tenant: its other users see it, another tenant gets 404 as for one that does not exist", async () => {
    const paid = await pay(shop);
    const url = `${shop.url}${String(paid.headers.get("location"))}`;
    expect((await send(url, { token: "demo-2" })).status).toBe(200);
    const foreign = await send(url, { token: "demo-3" });
    const absent = await send(`${shop.url}/payments/${randomUUID()}`, { token: "demo-3" });
    expectProblem(foreign, 404, "not-found");
    expectProblem(await send(`${shop.url}/payments/%zz`), 400, "validation");
    expect(foreign.text).toBe(absent.text);
  });

  it("M-01 ignores an Idempotency-Key, even a malformed one", async () => {
    const paid = await pay(shop);
    const url = `${shop.url}${String(paid.headers.get("location"))}`;
    expect((await send(url, { key: "not a key" })).status).toBe(200);
  });
});
