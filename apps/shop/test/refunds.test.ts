import { randomUUID } from "node:crypto";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { until } from "./support/poll.ts";
import { expectProblem } from "./support/problem.ts";
import { newFolder } from "./support/program.ts";
import { bankOf, pay, send, setFault, startBank, startShop, type Reply, type Shop } from "./support/shop.ts";

interface LedgerRefund {
  readonly reference: string;
  readonly chargeId: string;
  readonly amount: number;
}

async function refundsOf(bankUrl: string): Promise<readonly LedgerRefund[]> {
  return ((await (await fetch(`${bankUrl}/ledger`)).json()) as { refunds: LedgerRefund[] }).refunds;
}

async function paid(shop: Shop): Promise<string> {
  return `${shop.url}/payments/${String((await pay(shop)).body.paymentId)}`;
}

function refund(url: string, amount: unknown, key: string = randomUUID()): Promise<Reply> {
  return send(`${url}/refunds`, { key, body: { amount } });
}

describe("POST /payments/:paymentId/refunds", () => {
  let shop: Shop;
  let bank: string;
  let before: number;
  const made = async () => (await refundsOf(bank)).slice(before);
  beforeAll(async () => {
    shop = await startShop({ SHOP_DATA: newFolder(), GATEWAY_TIMEOUT_MS: "400" });
    bank = await bankOf(shop);
  });
  beforeEach(async () => {
    await setFault(bank, { mode: "normal" });
    before = (await refundsOf(bank)).length;
  });

  it("parts keep the payment captured and grow refundedAmount, the last makes it refunded", async () => {
    const url = await paid(shop);
    const first = await refund(url, 500);
    expect(first.status, first.text).toBe(201);
    expect(first.body).toMatchObject({ amount: 500, currency: "EUR", status: "captured", refundedAmount: 500 });
    expect((await send(url)).body).toMatchObject({ status: "captured", amount: 1200, refundedAmount: 500 });
    const second = await refund(url, 700);
    expect(second.body).toMatchObject({ amount: 700, status: "refunded", refundedAmount: 1200 });
    expect((await send(url)).body).toMatchObject({ status: "refunded", refundedAmount: 1200 });
    expectProblem(await refund(url, 1), 409, "illegal-transition");
    expect((await made()).map(({ amount }) => amount)).toEqual([500, 700]);
  });

  it("K-02 the same key replays 201 with the same bytes; F-01 other content, or another payment, is 422", async () => {
    const [url, other] = [await paid(shop), await paid(shop)];
    const key = randomUUID();
    const first = await refund(url, 300, key);
    const again = await refund(url, 300, key);
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    const reused = await refund(url, 301, key);
    expectProblem(reused, 422, "idempotency-key-reused");
    const { refundId } = first.body;
    expect(reused.body).toMatchObject({ resources: [{ kind: "refund", id: refundId }] });
    const asked = await send(`${shop.url}/console/api/ask?text=${String(refundId)}`);
    expect(asked.body).toMatchObject({ verdict: "one-effect", understood: ["resource refund"] });
    expectProblem(await refund(other, 300, key), 422, "idempotency-key-reused");
    expectProblem(await send(`${url}/refunds`, { body: { amount: 1 } }), 400, "idempotency-key-required");
    expect(await made()).toHaveLength(1);
  });

  it("refuses more than the rest, what is not captured, what is not there, and what is no amount", async () => {
    const url = await paid(shop);
    await refund(url, 1000);
    const beyond = await refund(url, 201);
    expectProblem(beyond, 409, "amount-exceeds");
    expect(beyond.body).toMatchObject({ refundable: 200 });
    await setFault(bank, { mode: "decline", calls: 1 });
    const declined = await pay(shop);
    const declinedUrl = `${shop.url}/payments/${String(declined.body.paymentId)}`;
    expectProblem(await refund(declinedUrl, 1), 409, "illegal-transition");
    expectProblem(await refund(`${shop.url}/payments/${randomUUID()}`, 1), 404, "not-found");
    const foreign = await send(`${url}/refunds`, { key: randomUUID(), token: "demo-3", body: { amount: 1 } });
    expectProblem(foreign, 404, "not-found");
    const key = randomUUID();
    for (const amount of [0, -1, 1.5, "1", null]) expectProblem(await refund(url, amount, key), 400, "validation");
    expect((await refund(url, 200, key)).status).toBe(201);
    expect(await made()).toHaveLength(2);
  });

  it("C-01 twelve refunds at once of a payment that has room for three give back no more than it", async () => {
    const url = await paid(shop);
    const replies = await Promise.all(Array.from({ length: 12 }, () => refund(url, 400)));
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(3);
    for (const { status, body } of replies.filter((each) => each.status !== 201)) {
      expect([status, String(body.code)]).toEqual([
        409,
        expect.stringMatching(/^(amount-exceeds|illegal-transition)$/),
      ]);
    }
    expect((await send(url)).body).toMatchObject({ status: "refunded", refundedAmount: 1200 });
    expect(await made()).toHaveLength(3);
  });

  it("a refund that the bank declines is 402, stored, and can be asked for again under a new key", async () => {
    const url = await paid(shop);
    await setFault(bank, { mode: "decline", calls: 1 });
    const key = randomUUID();
    expectProblem(await refund(url, 1200, key), 402, "refund-declined");
    expect((await refund(url, 1200, key)).status).toBe(402);
    expect((await refund(url, 1200)).status).toBe(201);
    expect(await made()).toHaveLength(1);
  });

  it.each(["timeout-but-charge", "drop-connection", "timeout-before-charge"])(
    "E-04 %s: a server error that is not stored, then the retry learns the outcome: one refund",
    async (mode) => {
      const url = await paid(shop);
      await setFault(bank, { mode, calls: 1 });
      const key = randomUUID();
      expectProblem(await refund(url, 500, key), 504, "gateway-timeout");
      if (mode !== "timeout-before-charge") await setFault(bank, { mode: "ignore-references" });
      const retry = await until("an answer", async () => {
        const reply = await refund(url, 500, key);
        return reply.status === 201 ? reply : undefined;
      });
      expect((await refund(url, 500, key)).text).toBe(retry.text);
      expect((await send(url)).body).toMatchObject({ status: "captured", refundedAmount: 500 });
      expect(await made()).toHaveLength(1);
    },
  );

  it("E-04 a bank that came late, forgot the reference and has nothing left: its refund is found", async () => {
    const url = await paid(shop);
    await setFault(bank, { mode: "slow", delayMs: 3_000, calls: 1 });
    const key = randomUUID();
    expectProblem(await refund(url, 1200, key), 504, "gateway-timeout");
    await until("it was carried out", async () => (await made()).length === 1);
    await setFault(bank, { mode: "ignore-references" });
    const retry = await refund(url, 1200, key);
    expect(retry.status, retry.text).toBe(201);
    expect(retry.body).toMatchObject({ status: "refunded", refundedAmount: 1200 });
    expect(await made()).toHaveLength(1);
  });

  it("ADR-010 a refund whose answer was lost is settled without being asked for", async () => {
    const url = await paid(shop);
    await setFault(bank, { mode: "timeout-but-charge", calls: 1 });
    expectProblem(await refund(url, 1200), 504, "gateway-timeout");
    await until("refunded", async () => (await send(url)).body.status === "refunded");
    expect(await made()).toHaveLength(1);
  });
});

describe("two payments that name one charge, after their key expired", () => {
  it("ADR-007 what the charge has not left is declined for good, and gives its reservation back", async () => {
    const shop = await startShop({ SHOP_DATA: newFolder(), IDEMPOTENCY_RETENTION_MS: "1000" });
    const key = randomUUID();
    const urlOf = ({ body }: Reply) => `${shop.url}/payments/${String(body.paymentId)}`;
    const first = urlOf(await pay(shop, { key }));
    const second = await until("the key has expired", async () => {
      const reply = await pay(shop, { key });
      return reply.status === 201 ? urlOf(reply) : undefined;
    });
    expect(second).not.toBe(first);
    expect((await refund(first, 1000)).status).toBe(201);
    const declined = randomUUID();
    expectProblem(await refund(second, 500, declined), 402, "refund-declined");
    expect((await refund(second, 500, declined)).status).toBe(402);
    expect((await refund(second, 200)).status).toBe(201);
    expectProblem(await refund(second, 1), 402, "refund-declined");
    expect((await send(second)).body).toMatchObject({ status: "captured", refundedAmount: 200 });
    expect((await refundsOf(await bankOf(shop))).map(({ amount }) => amount)).toEqual([1000, 200]);
  });
});

describe("a shop that dies inside a refund", () => {
  it("E-08 kill -9 after the bank gave back and before the answer: the retry finds the refund and makes no other", async () => {
    const folder = newFolder();
    const bank = await startBank({ BANK_DATA: `${folder}/bank.db` });
    const settings = { SHOP_DATA: folder, GATEWAY_URL: bank.url, IDEMPOTENCY_LEASE_MS: "1500" };
    const [victim, other] = await Promise.all([
      startShop({ ...settings, GATEWAY_TIMEOUT_MS: "60000" }),
      startShop(settings),
    ]);
    const payment = await pay(other);
    expect(payment.status, payment.text).toBe(201);
    const { paymentId } = payment.body;
    await setFault(bank.url, { mode: "timeout-but-charge", calls: 1 });
    const key = randomUUID();
    const lost = refund(`${victim.url}/payments/${String(paymentId)}`, 700, key).catch(() => "connection lost");
    await until("the refund is made", async () => (await refundsOf(bank.url)).length === 1);
    victim.kill("SIGKILL");
    expect(await lost).toBe("connection lost");
    await setFault(bank.url, { mode: "ignore-references" });
    const url = `${other.url}/payments/${String(paymentId)}`;
    const answer = await until("an answer", async () => {
      const reply = await refund(url, 700, key);
      return reply.status === 409 ? undefined : reply;
    });
    expect(answer.body, answer.text).toMatchObject({ amount: 700, refundedAmount: 700 });
    expect(await refundsOf(bank.url)).toHaveLength(1);
    expect((await send(url)).body).toMatchObject({ refundedAmount: 700 });
  });
});
