import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { until } from "./support/poll.ts";
import { newFolder } from "./support/program.ts";
import { charges, launchBank, LedgerWatch, send, setFault, startBank, type Bank } from "./support/shop.ts";

describe("the bank", () => {
  let file: string;
  let bank: Bank;
  let ledger: LedgerWatch;
  let order: { reference: string; amount: number; currency: string };

  beforeAll(async () => {
    file = join(newFolder(), "bank.db");
    bank = await startBank({ BANK_DATA: file });
    ledger = new LedgerWatch(bank.url);
  });
  beforeEach(async () => {
    order = { reference: randomUUID(), amount: 500, currency: "EUR" };
    await setFault(bank.url, { mode: "normal" });
    await ledger.mark();
  });

  const charge = (body: unknown = order, at: Bank = bank) => send(`${at.url}/charges`, { body });

  it("charges a reference once and answers with the same charge ever after", async () => {
    const [first, second] = [await charge(), await charge()];
    expect(first.status).toBe(201);
    expect(second.status).toBe(200);
    expect(second.body).toEqual(first.body);
    expect(await ledger.charges()).toEqual([first.body]);
  });

  it("charges once when twenty orders with one reference come at the same moment", async () => {
    const replies = await Promise.all(Array.from({ length: 20 }, () => charge()));
    expect(new Set(replies.map(({ body }) => body.chargeId)).size).toBe(1);
    expect(await ledger.charges()).toHaveLength(1);
  });

  it("is one bank with another process on the same ledger file", async () => {
    const other = await startBank({ BANK_DATA: file });
    const urls = [bank.url, other.url];
    const replies = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        send(`${urls[index % 2]}/charges`, { body: { ...order, reference: `${order.reference}-${index % 10}` } }),
      ),
    );
    expect(replies.every(({ status }) => status === 200 || status === 201)).toBe(true);
    expect(await ledger.charges()).toHaveLength(10);
    expect((await charges(other.url)).slice(-10)).toEqual(await ledger.charges());
  });

  it("refuses a known reference with another amount or currency, and charges nothing", async () => {
    await charge();
    expect((await charge({ ...order, amount: 501 })).status).toBe(409);
    expect((await charge({ ...order, currency: "USD" })).status).toBe(409);
    expect(await ledger.charges()).toHaveLength(1);
  });

  it("refuses an order that lacks or misstates something with 400", async () => {
    const bad = [
      {},
      { ...order, amount: 0 },
      { ...order, amount: 1.5 },
      { ...order, currency: "euro" },
      { ...order, reference: "" },
      { ...order, reference: 7 },
    ];
    for (const body of bad) expect((await charge(body)).status, JSON.stringify(body)).toBe(400);
    expect(await ledger.charges()).toEqual([]);
  });

  it("answers 400 without a stack to a body that is not JSON", async () => {
    const reply = await send(`${bank.url}/charges`, { rawBody: "{" });
    expect(reply.status).toBe(400);
    expect(reply.text).not.toContain("node_modules");
  });

  it("finds a charge by its reference, and nothing under another", async () => {
    const { body } = await charge();
    expect((await send(`${bank.url}/charges?reference=${order.reference}`)).body).toEqual({
      charges: [body],
      declines: [],
    });
    expect((await send(`${bank.url}/charges?reference=${randomUUID()}`)).body).toEqual({ charges: [], declines: [] });
  });

  it("keeps ledger and references over kill -9 and a restart", async () => {
    const own = { BANK_DATA: join(newFolder(), "bank.db") };
    const before = await startBank(own);
    const { body } = await charge(order, before);
    before.kill("SIGKILL");
    await before.exited;
    const after = await startBank(own);
    expect(await charges(after.url)).toEqual([body]);
    expect(await charge(order, after)).toMatchObject({ status: 200, body });
  });

  it("forgets a reference after BANK_RETENTION_MS, but never the charge", async () => {
    const forgetful = await startBank({ BANK_DATA: join(newFolder(), "bank.db"), BANK_RETENTION_MS: "1" });
    await charge(order, forgetful);
    await until("forgotten", async () => (await charge(order, forgetful)).status === 201);
    expect(await charges(forgetful.url)).toHaveLength(2);
  });

  it("refunds in parts up to the charge, each reference once", async () => {
    const { chargeId } = (await charge()).body;
    const refund = (reference: string, amount: number) =>
      send(`${bank.url}/refunds`, { body: { reference, chargeId, amount } });
    expect((await refund(`${order.reference}-1`, 200)).status).toBe(201);
    expect((await refund(`${order.reference}-1`, 200)).status).toBe(200);
    expect((await refund(`${order.reference}-1`, 100)).status).toBe(409);
    expect((await refund(`${order.reference}-2`, 301)).status).toBe(409);
    expect((await refund(`${order.reference}-3`, 300)).status).toBe(201);
    const { refunds } = (await send(`${bank.url}/ledger`)).body as { refunds: { amount: number; chargeId: string }[] };
    expect(refunds.map(({ amount }) => amount)).toEqual([200, 300]);
    const find = async (reference: string) => (await send(`${bank.url}/refunds?reference=${reference}`)).body;
    expect(await find(`${order.reference}-3`)).toMatchObject({ refunds: [{ amount: 300, chargeId }], declines: [] });
    expect(await find(`${order.reference}-2`)).toEqual({ refunds: [], declines: [] });
    expect(refunds.every((each) => each.chargeId === chargeId)).toBe(true);
  });

  it("refuses a refund of a charge it does not know", async () => {
    const body = { reference: `${order.reference}-1`, chargeId: "ch_none", amount: 1 };
    expect((await send(`${bank.url}/refunds`, { body })).status).toBe(404);
  });

  it("ends on SIGTERM with exit code 0", async () => {
    const other = await startBank({ BANK_DATA: join(newFolder(), "bank.db") });
    other.kill("SIGTERM");
    expect(await other.exited).toEqual({ code: 0, signal: null });
  });

  it("names variable, expectation and value when it cannot start", async () => {
    const broken = launchBank({ BANK_PORT: "x", BANK_RETENTION_MS: "-1" });
    expect(await broken.exited).toEqual({ code: 1, signal: null });
    expect(broken.output.errors()).toContain('bank: BANK_PORT: expected an integer from 0 to 65535, got "x"');
    expect(broken.output.errors()).toContain("BANK_RETENTION_MS: expected an integer from 1");
  });

  describe("on demand", () => {
    const hung = (body: unknown = order) =>
      fetch(`${bank.url}/charges`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(300),
      }).then(
        ({ status }) => status,
        (error: Error) => error.name,
      );

    it("declines, for as many calls as asked, and remembers the decline by its reference", async () => {
      await setFault(bank.url, { mode: "decline", calls: 1 });
      expect((await charge()).status).toBe(402);
      expect((await charge()).status).toBe(402);
      expect((await charge({ ...order, reference: randomUUID() })).status).toBe(201);
      expect((await send(`${bank.url}/charges?reference=${order.reference}`)).body).toMatchObject({
        charges: [],
        declines: [{ reference: order.reference }],
      });
      expect(await ledger.charges()).toHaveLength(1);
    });

    it("stays in a mode without calls until it is changed", async () => {
      await setFault(bank.url, { mode: "decline" });
      expect((await charge()).status).toBe(402);
      expect((await charge({ ...order, reference: randomUUID() })).status).toBe(402);
      await setFault(bank.url, { mode: "normal" });
      expect((await charge({ ...order, reference: randomUUID() })).status).toBe(201);
    });

    it("charges twice when told to ignore references", async () => {
      await setFault(bank.url, { mode: "ignore-references", calls: 2 });
      await charge();
      await charge();
      expect(await ledger.charges()).toHaveLength(2);
    });

    it("charges and does not answer", async () => {
      await setFault(bank.url, { mode: "timeout-but-charge", calls: 1 });
      expect(await hung()).toBe("TimeoutError");
      expect(await ledger.charges()).toHaveLength(1);
      expect((await charge()).status).toBe(200);
    });

    it("neither charges nor answers", async () => {
      await setFault(bank.url, { mode: "timeout-before-charge", calls: 1 });
      expect(await hung()).toBe("TimeoutError");
      expect(await ledger.charges()).toEqual([]);
      expect((await charge()).status).toBe(201);
    });

    it("charges and cuts the connection", async () => {
      await setFault(bank.url, { mode: "drop-connection", calls: 1 });
      expect(await hung()).toBe("TypeError");
      expect(await ledger.charges()).toHaveLength(1);
    });

    it("waits before it behaves", async () => {
      await setFault(bank.url, { mode: "slow", calls: 1, delayMs: 600 });
      expect(await hung()).toBe("TimeoutError");
      expect((await charge({ ...order, reference: randomUUID() })).status).toBe(201);
    });

    it("refuses a fault it does not know with 400", async () => {
      for (const body of [{ mode: "angry" }, { mode: "slow", calls: 0 }, { mode: "slow", delayMs: -1 }, {}]) {
        expect((await send(`${bank.url}/faults`, { body })).status, JSON.stringify(body)).toBe(400);
      }
    });
  });
});
