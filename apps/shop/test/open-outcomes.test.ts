import { randomUUID } from "node:crypto";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { until } from "./support/poll.ts";
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
  type Reply,
  type Shop,
} from "./support/shop.ts";

function expectInterim(reply: Reply): void {
  expect(reply.status, reply.text).toBe(202);
  expect(reply.body).toMatchObject({ ...booking, status: "unknown" });
  expect(reply.headers.get("location")).toBe(`/payments/${String(reply.body.paymentId)}`);
  expect(Number(reply.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
  expect(reply.headers.get("idempotency-replayed")).toBeNull();
}

/** Retries as a client does: whatever comes before the final answer must be the interim one, byte for byte. */
async function finalAnswer(shops: readonly Shop[], key: string, interim: Reply): Promise<Reply> {
  let turn = 0;
  return until("the outcome is settled", async () => {
    const reply = await pay(shops[turn++ % shops.length] as Shop, { key });
    if (reply.status !== 202) return reply;
    expect([reply.text, reply.headers.get("location")]).toEqual([interim.text, interim.headers.get("location")]);
    expectInterim(reply);
    return undefined;
  });
}

function expectCaptured(reply: Reply, interim: Reply): void {
  expect(reply.status, reply.text).toBe(200);
  expect(reply.headers.get("idempotency-replayed")).toBe("true");
  expect(reply.headers.get("location")).toBe(interim.headers.get("location"));
  expect(reply.body).toEqual({ ...interim.body, status: "captured" });
}

const statusOf = async (shop: Shop, interim: Reply) =>
  (await send(`${shop.url}${String(interim.headers.get("location"))}`)).body.status;

describe("when the bank does not answer", () => {
  let shop: Shop;
  let bank: string;
  let ledger: LedgerWatch;
  beforeAll(async () => {
    shop = await startShop({ SHOP_DATA: newFolder(), GATEWAY_TIMEOUT_MS: "300" });
    bank = await bankOf(shop);
    ledger = new LedgerWatch(bank);
  });
  beforeEach(async () => {
    await setFault(bank, { mode: "normal" });
    await ledger.mark();
  });

  it.each(["timeout-but-charge", "drop-connection", "timeout-before-charge"])(
    "ADR-010 %s: 202 and the same 202 until settled, then 200 with the marker, one charge",
    async (mode) => {
      await setFault(bank, { mode, calls: 1 });
      const key = randomUUID();
      const interim = await pay(shop, { key });
      expectInterim(interim);
      const settled = await finalAnswer([shop], key, interim);
      expectCaptured(settled, interim);
      expect((await pay(shop, { key })).text).toBe(settled.text);
      expect((await send(`${shop.url}${String(interim.headers.get("location"))}`)).body).toEqual(settled.body);
      expect(await ledger.charges()).toHaveLength(1);
    },
  );

  it("ADR-010 settles without being asked, and the payment shows it", async () => {
    await setFault(bank, { mode: "timeout-but-charge", calls: 1 });
    const interim = await pay(shop);
    await until("captured", async () => (await statusOf(shop, interim)) === "captured");
    expect(await ledger.charges()).toHaveLength(1);
  });

  it("ADR-010 a bank that never honours references is asked before it is charged again", async () => {
    await setFault(bank, { mode: "drop-connection", calls: 1 });
    const key = randomUUID();
    const interim = await pay(shop, { key });
    await setFault(bank, { mode: "ignore-references" });
    expectCaptured(await finalAnswer([shop], key, interim), interim);
    expect(await ledger.charges()).toHaveLength(1);
  });

  it("ADR-010 a charge that the bank declines in the end: 402 with the marker, nothing charged", async () => {
    await setFault(bank, { mode: "timeout-before-charge", calls: 1 });
    const key = randomUUID();
    const interim = await pay(shop, { key });
    await setFault(bank, { mode: "decline" });
    const settled = await finalAnswer([shop], key, interim);
    expect([settled.status, settled.body.code]).toEqual([402, "card-declined"]);
    expect(settled.headers.get("idempotency-replayed")).toBe("true");
    expect(await statusOf(shop, interim)).toBe("declined");
    expect(await ledger.charges()).toEqual([]);
  });

  it("ADR-010 an answer that comes too late: one charge, whoever made it", async () => {
    await setFault(bank, { mode: "slow", delayMs: 1_200, calls: 1 });
    const key = randomUUID();
    const interim = await pay(shop, { key });
    expectInterim(interim);
    expectCaptured(await finalAnswer([shop], key, interim), interim);
    const late = await send(`${bank}/charges`, { body: { reference: "later", amount: 1, currency: "EUR" } });
    expect(late.status).toBe(201);
    expect((await ledger.charges()).filter(({ reference }) => reference !== "later")).toHaveLength(1);
  });

  it("ADR-010 stays open for as long as the bank is silent, then settles", async () => {
    await setFault(bank, { mode: "timeout-before-charge" });
    const key = randomUUID();
    const interim = await pay(shop, { key });
    // Three silent rounds of the reconciler.
    for (let round = 0; round < 3; round += 1) {
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      expectInterim(await pay(shop, { key }));
    }
    await setFault(bank, { mode: "normal" });
    expectCaptured(await finalAnswer([shop], key, interim), interim);
    expect(await ledger.charges()).toHaveLength(1);
  });

  it("F-01 other content under a key whose outcome is open: 409, and the payment still settles", async () => {
    await setFault(bank, { mode: "timeout-before-charge" });
    const key = randomUUID();
    const interim = await pay(shop, { key });
    expectProblem(await pay(shop, { key, body: { ...booking, amount: 1 } }), 409, "idempotency-key-reused");
    await setFault(bank, { mode: "normal" });
    expectCaptured(await finalAnswer([shop], key, interim), interim);
  });
});

/** As the console does it, until no reconciler has the record in its hands. */
async function adopt(shop: Shop, operation: string, answer: unknown): Promise<void> {
  const api = `${shop.url}/console/api`;
  const { token } = (await send(`${api}/session`)).body as { token: string };
  const headers = { "x-ichido-token": token, "sec-fetch-site": "same-origin" };
  await until("a person's answer is taken", async () => {
    const { records } = (await send(`${api}/keys?operation=${operation}&state=unknown`)).body;
    const [record] = records as readonly { readonly handle: string; readonly fence: number }[];
    if (record === undefined) return false;
    const body = { reason: "the bank's letter", fence: record.fence, decision: "adopt", answer };
    return (await send(`${api}/keys/${record.handle}/settle`, { headers, body })).status === 200;
  });
}

describe("a person who settles by hand what the bank left open", () => {
  it("ADR-010 leaves no row open: payment and refund become what the bank says, and nothing is made twice", async () => {
    const folder = newFolder();
    let bank = await startBank({ BANK_DATA: `${folder}/bank.db` });
    const { port } = new URL(bank.url);
    const away = async () => {
      bank.kill("SIGKILL");
      await bank.exited;
    };
    const back = async () => (bank = await startBank({ BANK_DATA: `${folder}/bank.db`, BANK_PORT: port }));
    const shop = await startShop({ SHOP_DATA: folder, GATEWAY_URL: bank.url, GATEWAY_TIMEOUT_MS: "300" });
    await setFault(bank.url, { mode: "timeout-but-charge" });
    const key = randomUUID();
    const interim = await pay(shop, { key });
    expectInterim(interim);
    await away();
    await adopt(shop, "payment.create", { status: 201, body: JSON.stringify({ paid: "by hand" }) });
    expect((await pay(shop, { key })).body).toEqual({ paid: "by hand" });
    expect(await statusOf(shop, interim)).toBe("unknown");
    await back();
    await until("captured", async () => (await statusOf(shop, interim)) === "captured");

    await setFault(bank.url, { mode: "timeout-but-charge" });
    const refunds = `${shop.url}/payments/${String(interim.body.paymentId)}/refunds`;
    expectProblem(await send(refunds, { key: randomUUID(), body: { amount: 1200 } }), 504, "gateway-timeout");
    await away();
    await adopt(shop, "payment.refund", { status: 201 });
    await back();
    await until("refunded", async () => (await statusOf(shop, interim)) === "refunded");
    const ledger = await (await fetch(`${bank.url}/ledger`)).json();
    expect(ledger).toMatchObject({ charges: [{ amount: 1200 }], refunds: [{ amount: 1200 }] });
  });
});

describe("two shops that share a bank", () => {
  it("ADR-010 ask and charge once between them, even at a bank that ignores references", async () => {
    const folder = newFolder();
    const bank = await startBank({ BANK_DATA: `${folder}/bank.db` });
    const settings = { SHOP_DATA: folder, GATEWAY_URL: bank.url, GATEWAY_TIMEOUT_MS: "300" };
    const shops = await Promise.all([startShop(settings), startShop(settings)]);
    const keys = Array.from({ length: 12 }, () => randomUUID());
    await setFault(bank.url, { mode: "timeout-before-charge" });
    const interims = await Promise.all(keys.map((key, index) => pay(shops[index % 2] as Shop, { key })));
    await setFault(bank.url, { mode: "ignore-references" });
    for (const interim of interims) expectInterim(interim);
    const settled = await Promise.all(keys.map((key, index) => finalAnswer(shops, key, interims[index] as Reply)));
    for (const [index, reply] of settled.entries()) expectCaptured(reply, interims[index] as Reply);
    const ledger = await charges(bank.url);
    expect(new Set(ledger.map(({ reference }) => reference)).size).toBe(keys.length);
    expect(ledger).toHaveLength(keys.length);
  });

  it("ADR-010 one settles what the other left open when it was killed", async () => {
    const folder = newFolder();
    const bank = await startBank({ BANK_DATA: `${folder}/bank.db` });
    const settings = { SHOP_DATA: folder, GATEWAY_URL: bank.url, GATEWAY_TIMEOUT_MS: "300" };
    const first = await startShop(settings);
    await setFault(bank.url, { mode: "timeout-but-charge" });
    const key = randomUUID();
    const interim = await pay(first, { key });
    expectInterim(interim);
    first.kill("SIGKILL");
    await first.exited;
    await setFault(bank.url, { mode: "normal" });
    const second = await startShop(settings);
    expectCaptured(await finalAnswer([second], key, interim), interim);
    expect(await charges(bank.url)).toHaveLength(1);
  });

  it("E-08 a charge whose shop was killed before it heard of it is settled without a retry", async () => {
    const folder = newFolder();
    const bank = await startBank({ BANK_DATA: `${folder}/bank.db` });
    const settings = { SHOP_DATA: folder, GATEWAY_URL: bank.url, IDEMPOTENCY_LEASE_MS: "500" };
    const first = await startShop({ ...settings, GATEWAY_TIMEOUT_MS: "60000" });
    await setFault(bank.url, { mode: "timeout-but-charge", calls: 1 });
    const key = randomUUID();
    const lost = pay(first, { key }).catch(() => "connection lost");
    await until("the charge is made", async () => (await charges(bank.url)).length === 1);
    first.kill("SIGKILL");
    expect(await lost).toBe("connection lost");
    const second = await startShop(settings);
    await until("captured", async () =>
      (await send(`${second.url}/metrics`)).text.includes('shop_payments{status="captured"} 1\n'),
    );
    const answer = await until("an answer", async () => {
      const reply = await pay(second, { key });
      return reply.status === 409 ? undefined : reply;
    });
    expect([answer.status, answer.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
    expect(await charges(bank.url)).toHaveLength(1);
  });
});
