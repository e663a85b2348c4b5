import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readConfig } from "../src/config.ts";
import { migrate } from "../src/database/migrate.ts";
import { openDatabase } from "../src/database/open.ts";
import { orderOnce } from "../src/orders/order.ts";
import { isCurrency } from "../src/payments/currencies.ts";
import { newId } from "../src/ids.ts";
import type { Attempt } from "../src/payments/attempts.ts";
import type { PaymentRepository } from "../src/payments/payment-repository.ts";
import {
  IllegalTransitionError,
  paymentTransitions,
  type Payment,
  type PaymentStatus,
} from "../src/payments/payment.ts";
import { sqlPaymentRepository } from "../src/payments/sql-payment-repository.ts";
import { freshDatabase, mariadbUrl, postgresUrl } from "../../../test/support/services.ts";
import { newFolder } from "./support/program.ts";

const statuses: readonly PaymentStatus[] = ["requested", "unknown", "captured", "declined", "refunded"];
const request = { tenant: "acme", user: "user-1", bookingId: "booking-1", amount: 1200, currency: "EUR" };

describe("payment statuses", () => {
  it("ADR-009 allows these transitions and no others", () => {
    const allowed = statuses.flatMap((from) =>
      statuses.filter((to) => paymentTransitions.allows(from, to)).map((to) => `${from} → ${to}`),
    );
    expect(allowed).toEqual([
      "requested → unknown",
      "requested → captured",
      "requested → declined",
      "unknown → captured",
      "unknown → declined",
      "captured → refunded",
    ]);
  });
});

const attempt = (number: number, fence: number): Attempt => ({
  reference: "ref-1",
  number,
  fence,
  signal: AbortSignal.timeout(10_000),
});

async function openShop(kind: "sqlite" | "postgres" | "mariadb") {
  const server = { sqlite: undefined, postgres: postgresUrl, mariadb: mariadbUrl }[kind];
  const fresh = server === undefined ? undefined : await freshDatabase(await server());
  const database = await openDatabase(fresh?.url, join(newFolder(), "shop.sqlite"));
  await migrate(database);
  return {
    database,
    async close() {
      await database.close();
      await fresh?.drop();
    },
  };
}

describe.each(["sqlite", "postgres", "mariadb"] as const)("payments in %s", (kind) => {
  let shop: Awaited<ReturnType<typeof openShop>>;
  let payments: PaymentRepository;
  beforeEach(async () => {
    shop = await openShop(kind);
    payments = sqlPaymentRepository(shop.database);
  });
  afterEach(() => shop.close());
  const opened = async (number: number, fence: number) =>
    (await payments.open(request, attempt(number, fence))) as Payment;

  it("a later attempt gets the row of the one before, whatever became of it", async () => {
    const first = await opened(1, 10);
    expect(first).toMatchObject({ ...request, status: "requested", reference: "ref-1", chargeId: undefined });
    expect(await opened(2, 20)).toEqual(first);
    const captured = await payments.settle(first, { status: "captured", chargeId: "ch_1" });
    expect(await opened(3, 30)).toEqual(captured);
  });

  it("an attempt that was overtaken can no longer open a row", async () => {
    await opened(2, 20);
    expect(await payments.open(request, attempt(1, 10))).toBe("overtaken");
    expect(await payments.countByStatus()).toEqual({ requested: 1 });
  });

  it("a first attempt opens a new row beside a settled one, and continues an open one", async () => {
    const first = await opened(1, 10);
    expect((await opened(1, 20)).paymentId).toBe(first.paymentId);
    await payments.settle(first, { status: "captured", chargeId: "ch_1" });
    const second = await opened(1, 30);
    expect(second.paymentId).not.toBe(first.paymentId);
    expect((await payments.findByReference("ref-1"))?.paymentId).toBe(second.paymentId);
  });

  it("ADR-009 refuses an illegal transition and leaves the row alone", async () => {
    const payment = await opened(1, 10);
    await payments.settle(payment, { status: "declined" });
    await expect(payments.settle(payment, { status: "captured", chargeId: "ch_1" })).rejects.toThrow(
      IllegalTransitionError,
    );
    await expect(payments.settle(payment, { status: "unknown" })).rejects.toThrow(IllegalTransitionError);
    expect(await payments.find("acme", payment.paymentId)).toMatchObject({ status: "declined" });
  });

  it("settling again the same way changes nothing, with another charge it is refused", async () => {
    const payment = await opened(1, 10);
    const captured = await payments.settle(payment, { status: "captured", chargeId: "ch_1" });
    expect(await payments.settle(payment, { status: "captured", chargeId: "ch_1" })).toEqual(captured);
    await expect(payments.settle(payment, { status: "captured", chargeId: "ch_2" })).rejects.toThrow(
      IllegalTransitionError,
    );
  });

  it("an unknown outcome settles later", async () => {
    const payment = await opened(1, 10);
    await payments.settle(payment, { status: "unknown" });
    expect(await payments.settle(payment, { status: "unknown" })).toMatchObject({ status: "unknown" });
    expect(await payments.settle(payment, { status: "captured", chargeId: "ch_1" })).toMatchObject({
      status: "captured",
    });
  });

  it("of twelve attempts at once one opens the row, and all that were not overtaken get that one", async () => {
    const fences = Array.from({ length: 12 }, (_, index) => index + 1);
    const all = await Promise.all(fences.map((fence) => payments.open(request, attempt(fence, fence))));
    const rows = all.filter((each) => each !== "overtaken");
    expect(all.at(-1)).not.toBe("overtaken");
    expect(new Set(rows.map(({ paymentId }) => paymentId)).size).toBe(1);
    expect(await payments.countByStatus()).toEqual({ requested: 1 });
  });

  it("finds a payment for its tenant only", async () => {
    const { paymentId } = await opened(1, 10);
    expect(await payments.find("acme", paymentId)).toBeDefined();
    expect(await payments.find("globex", paymentId)).toBeUndefined();
  });
});

describe.each(["sqlite", "postgres", "mariadb"] as const)("orders in %s", (kind) => {
  const buyer = { tenant: "acme", user: "user-1" };
  const wish = { productId: "prod-123", quantity: 2 };

  it("an attempt that committed and left no answer has placed the order that the next one answers; a late one places none", async () => {
    const shop = await openShop(kind);
    const ordered = (number: number, fence: number) =>
      shop.database.transactions.run((_tx, sql) => orderOnce(sql, attempt(number, fence), buyer, wish));
    const first = await ordered(1, 10);
    expect(first).toMatchObject(wish);
    expect(await ordered(2, 11)).toEqual(first);
    expect(await ordered(1, 10)).toBe("overtaken");
    // Under a key that has expired since, the same wish is a new one.
    expect(await ordered(1, 12)).not.toEqual(first);
    await shop.close();
  });
});

describe("small parts", () => {
  it("makes UUID v7 that sort by the millisecond they were made in", () => {
    const ids = [1_700_000_000_000, 1_700_000_000_001, 1_800_000_000_000].map((ms) => newId(ms));
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(ids.toSorted()).toEqual(ids);
    expect(ids[0]?.slice(0, 13)).toBe("018bcfe5-6800");
    expect(newId(1)).not.toBe(newId(1));
  });

  it("knows current currencies with a minor unit, and nothing else", () => {
    for (const code of ["EUR", "USD", "JPY", "KWD", "XOF", "SLE", "XCG", "ZWG"])
      expect(isCurrency(code), code).toBe(true);
    for (const code of ["DEM", "HRK", "ANG", "XAU", "XDR", "XTS", "XXX", "eur", "EURO", ""])
      expect(isCurrency(code), code).toBe(false);
  });

  it("has the defaults of the table in the README", () => {
    expect(readConfig({})).toMatchObject({
      port: 3000,
      host: "127.0.0.1",
      databaseUrl: undefined,
      keyStoreUrl: undefined,
      gatewayUrl: undefined,
      gatewayTimeoutMs: 3000,
      leaseMs: 30_000,
      retentionMs: 86_400_000,
      sweepMs: 3_600_000,
      handlerDelayMs: 0,
      usesDefaultTokens: true,
    });
    expect(readConfig({ PORT: "", SHOP_DATA: "" })).toEqual(readConfig({}));
  });
});
