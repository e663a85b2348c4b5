/** The shop's handlers under the crash kit of `ichido/testing`, as anybody would try their own: in this process, on SQLite. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Request } from "express";
import { createIchido, type Store } from "ichido";
import { createOutbox } from "ichido/outbox";
import { everyCrashPoint, everyStoreFault, race, type CrashRun, type FaultPoint } from "ichido/testing";
import { shopApp } from "../src/app.ts";
import { readConfig } from "../src/config.ts";
import { openDatabase } from "../src/database/open.ts";
import { orderEvents } from "../src/events/order-events.ts";
import { bankGateway } from "../src/gateway/bank-gateway.ts";
import { caller } from "../src/http/authentication.ts";
import { openKeyStore } from "../src/key-store.ts";
import { listen } from "../src/listen.ts";
import { reconcileOpenOutcomes } from "../src/open-outcomes.ts";
import { sqlPaymentRepository } from "../src/payments/sql-payment-repository.ts";
import { sqlRefundRepository } from "../src/payments/sql-refund-repository.ts";
import { newFolder } from "./support/program.ts";
import { until } from "./support/poll.ts";
import { booking, LedgerWatch, send, startBank, type Bank, type Reply, type Sending } from "./support/shop.ts";

const timeout = 300_000;
/** Short: a retry waits for it after each crash. */
const leaseMs = 300;
const gatewayTimeoutMs = 5_000;

let bank: Bank;
let ledger: LedgerWatch;
beforeAll(async () => {
  bank = await startBank({ BANK_DATA: join(newFolder(), "bank.db") });
  ledger = new LedgerWatch(bank.url);
});

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

interface Shop {
  readonly url: string;
  readonly stop: () => Promise<void>;
}

/** One shop on the file. Stopped, it lets go of the file at once, as a process that was killed does. */
async function openShop(file: string, faults?: FaultPoint, wrap = (store: Store): Store => store): Promise<Shop> {
  const config = readConfig({ PORT: "0", GATEWAY_URL: bank.url });
  const database = await openDatabase(undefined, file);
  const keys = await openKeyStore(undefined, database);
  const outbox = createOutbox({
    transactions: database.transactions,
    source: "/shop",
    topics: { "order.*": { to: "x" } },
  });
  await outbox.migrate();
  const keyStore = wrap(keys.store);
  const ichido = createIchido<Request>({
    store: keyStore,
    scope: (request) => ({ tenant: caller(request).tenant, principal: caller(request).user }),
    onUnknown: "hold",
    leaseMs,
    storeTimeoutMs: 20_000,
    sweepMs: "off",
    onEvent: () => undefined,
    ...(faults && { faults }),
  });
  const ports = {
    payments: sqlPaymentRepository(database),
    refunds: sqlRefundRepository(database),
    gateway: bankGateway({ url: bank.url, timeoutMs: gatewayTimeoutMs }),
  };
  const events = orderEvents(outbox);
  const log = (): void => undefined;
  const reconciling = reconcileOpenOutcomes({ ichido, ports, gatewayTimeoutMs });
  const metrics = { contentType: "text/plain", text: async () => "" };
  const app = shopApp({ config, ichido, keyStore, ports, database, events, metrics, gatewayUrl: bank.url, log });
  const listening = await listen(app, "127.0.0.1", 0);
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopped ??= Promise.all([reconciling.stop({ drainMs: 15_000 }), listening.part.stop({ drainMs: 0 })]).then(() =>
      database.close(),
    );
    return stopped;
  };
  stops.push(stop);
  return { url: listening.url, stop };
}

const isFinal = ({ status }: Reply): boolean => status === 200 || status === 201;

/** Asks until there is an answer, as a caller does that never gets tired. */
function answered(shop: Shop, path: string, sending: Sending): Promise<Reply> {
  return until(
    "an answer",
    async () => {
      const reply = await send(`${shop.url}${path}`, sending);
      return isFinal(reply) && reply;
    },
    20_000,
    50,
  );
}

interface Asked {
  readonly path: string;
  readonly body: unknown;
}

interface World {
  readonly file: string;
  readonly reply: Reply;
}

/** Asks one shop after the other, on the same file. */
async function ask({ lives }: CrashRun, prepare: (shop: Shop) => Promise<Asked>): Promise<World> {
  const file = join(newFolder(), "shop.sqlite");
  const first = await openShop(file);
  const { path, body } = await prepare(first);
  await first.stop();
  const key = randomUUID();
  let reply: Reply | undefined;
  await ledger.mark();
  for (const { faults, crashed } of lives) {
    const shop = await openShop(file, faults);
    const trying = answered(shop, path, { key, body });
    reply = await Promise.race([trying, crashed.then(() => undefined)]);
    trying.catch(() => undefined);
    await shop.stop();
  }
  if (reply === undefined) throw new Error("no answer from the last shop");
  return { file, reply };
}

function count(file: string, table: string): number {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    return Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"]);
  } finally {
    database.close();
  }
}

const payment = async (): Promise<Asked> => ({ path: "/payments", body: booking });

async function paidOnce({ file, reply }: World): Promise<void> {
  expect(await ledger.charges()).toHaveLength(1);
  expect(count(file, "payments")).toBe(1);
  expect(reply.body).toMatchObject({ status: "captured" });
}

/** The order is there before; to pay it moves the order, takes from the stock and writes an event, in one commit. */
async function orderPayment({ url }: Shop): Promise<Asked> {
  const wish = { productId: "prod-123", quantity: 2 };
  const { body } = await send(`${url}/orders`, { key: randomUUID(), body: wish });
  return { path: `/orders/${String(body.orderId)}/pay`, body: { amount: body.amount } };
}

function orderPaidOnce({ file, reply }: World): void {
  expect(reply.body).toMatchObject({ status: "paid" });
  expect(count(file, "ichido_outbox")).toBe(1);
}

describe("the shop's handlers", () => {
  it("a payment is charged once, wherever the shop dies", { timeout }, async () => {
    const { verdicts } = await everyCrashPoint((run) => ask(run, payment), paidOnce, {
      points: [
        "before-claim",
        "after-claim",
        "before-handler",
        "before-step-start",
        "after-step-start",
        "before-step-finish",
        "after-step-finish",
        "after-handler",
        "before-complete",
        "after-complete",
      ],
    });
    expect(verdicts.slice(1).filter(({ reached }) => !reached)).toEqual([]);
  });

  it("a payment is charged once, although the shop that takes over dies, too", { timeout }, async () => {
    const { verdicts } = await everyCrashPoint((run) => ask(run, payment), paidOnce, {
      points: ["after-claim", "after-step-start"],
      nthMax: 1,
      pairs: true,
    });
    expect(verdicts).toHaveLength(7);
  });

  it("an order is paid once, and told once, wherever the shop dies", { timeout }, async () => {
    const { verdicts } = await everyCrashPoint((run) => ask(run, orderPayment), orderPaidOnce, {
      points: ["after-claim", "before-handler", "before-commit", "after-commit", "before-complete", "after-complete"],
    });
    expect(verdicts.slice(1).filter(({ reached }) => !reached)).toEqual([]);
  });

  it("a payment is charged once, whatever answer of the store is lost or late", { timeout }, async () => {
    const { runs } = await everyStoreFault(
      async ({ wrap, arrive }) => {
        const file = join(newFolder(), "shop.sqlite");
        await ledger.mark();
        const shop = await openShop(file, undefined, wrap);
        const arriving = setInterval(arrive, 2 * leaseMs);
        const reply = await answered(shop, "/payments", { key: randomUUID(), body: booking }).finally(() => {
          clearInterval(arriving);
        });
        return { file, reply };
      },
      paidOnce,
      { verbs: ["claim", "startStep", "finishStep", "complete"], faults: ["lose", "late"], nthMax: 1 },
    );
    expect(runs).toBe(8);
  });

  it("thirty callers with one key pay once, and all get that answer in the end", { timeout }, async () => {
    const file = join(newFolder(), "shop.sqlite");
    const shop = await openShop(file);
    await ledger.mark();
    const key = randomUUID();
    const { answers, errors } = await race(30, () => answered(shop, "/payments", { key, body: booking }));
    expect(errors).toEqual([]);
    expect(new Set(answers.map(({ body }) => body.paymentId)).size).toBe(1);
    expect(answers.filter(({ headers }) => headers.get("idempotency-replayed") === null)).toHaveLength(1);
    await paidOnce({ file, reply: answers[0] as Reply });
  });
});
