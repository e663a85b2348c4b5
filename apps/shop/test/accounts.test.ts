import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { expectProblem } from "./support/problem.ts";
import { newFolder } from "./support/program.ts";
import { send, startShop, type Shop } from "./support/shop.ts";

let shops: readonly Shop[];
beforeAll(async () => {
  const settings = { SHOP_DATA: newFolder() };
  shops = await Promise.all([startShop(settings), startShop(settings)]);
});
const account = (id: string, shop = 0) => `${String(shops[shop]?.url)}/accounts/${id}`;
const newAccount = () => `acc-${randomUUID()}`;
const post = (id: string, transactionId: string, type: string, amount: unknown, shop = 0) =>
  send(`${account(id, shop)}/transactions`, { body: { transactionId, type, amount } });
const put = (id: string, newBalance: unknown, previousBalance: unknown, shop = 0) =>
  send(`${account(id, shop)}/balance`, { method: "PUT", body: { newBalance, previousBalance } });
const balanceOf = async (id: string) => (await send(account(id))).body.balance;

describe("accounts", () => {
  it("start at 0, and belong to the tenant", async () => {
    const id = newAccount();
    expect((await send(account(id))).body).toEqual({ accountId: id, balance: 0, version: 0 });
    await post(id, "t1", "deposit", 500);
    expect((await send(account(id))).body).toEqual({ accountId: id, balance: 500, version: 1 });
    expect((await send(account(id), { token: "demo-3" })).body).toMatchObject({ balance: 0 });
    expectProblem(await send(account(id), { token: "" }), 401, "unauthorized");
  });

  it("a transaction: 201 first, 200 the same again with the same content, 409 with other content", async () => {
    const id = newAccount();
    const first = await post(id, "t1", "deposit", 500);
    expect(first.status, first.text).toBe(201);
    expect(first.body).toMatchObject({
      accountId: id,
      transactionId: "t1",
      type: "deposit",
      amount: 500,
      balance: 500,
    });
    await post(id, "t2", "deposit", 1);
    const again = await post(id, "t1", "deposit", 500);
    expect([again.status, again.text]).toEqual([200, first.text]);
    expectProblem(await post(id, "t1", "deposit", 501), 409, "transaction-exists");
    expectProblem(await post(id, "t1", "withdrawal", 500), 409, "transaction-exists");
    expect(await balanceOf(id)).toBe(501);
  });

  it("a withdrawal beyond the balance is 409 and leaves its id free; one sent again after the money has gone is 200", async () => {
    const id = newAccount();
    expectProblem(await post(id, "w", "withdrawal", 100), 409, "insufficient-funds");
    await post(id, "d", "deposit", 100);
    expect((await post(id, "w", "withdrawal", 100)).status).toBe(201);
    expect((await post(id, "w", "withdrawal", 100)).status).toBe(200);
    expectProblem(await post(id, "w2", "withdrawal", 1), 409, "insufficient-funds");
    expect(await balanceOf(id)).toBe(0);
    await post(id, "d2", "deposit", Number.MAX_SAFE_INTEGER);
    expectProblem(await post(id, "d3", "deposit", 1), 409, "balance-limit");
  });

  it("C-01 the same transaction sent many times at once, to two shops, is one; different ones never overdraw", async () => {
    const id = newAccount();
    const same = await Promise.all(Array.from({ length: 10 }, (_, index) => post(id, "d", "deposit", 300, index % 2)));
    expect(same.map(({ status }) => status).toSorted((some, other) => some - other)).toEqual([
      ...Array.from({ length: 9 }, () => 200),
      201,
    ]);
    const many = await Promise.all(
      Array.from({ length: 10 }, (_, index) => post(id, `w${index}`, "withdrawal", 100, index % 2)),
    );
    expect(many.filter(({ status }) => status === 201)).toHaveLength(3);
    expect(await balanceOf(id)).toBe(0);
  });

  it("compare and set: 200, repeated 200, 409 when the balance is neither", async () => {
    const id = newAccount();
    expect((await put(id, 100, 0)).body).toEqual({ accountId: id, balance: 100, version: 1 });
    expect((await put(id, 100, 0)).body).toEqual({ accountId: id, balance: 100, version: 1 });
    const stale = await put(id, 200, 50);
    expectProblem(stale, 409, "balance-changed");
    expect(stale.body).toMatchObject({ balance: 100 });
    expect((await put(id, 250, 100)).body).toMatchObject({ balance: 250, version: 2 });
    const race = await Promise.all([1, 2, 3, 4].map((each) => put(id, each, 250, each % 2)));
    expect(race.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it("answers 400 to what cannot be right", async () => {
    const id = newAccount();
    expectProblem(await post(id, "", "deposit", 1), 400, "validation");
    expectProblem(await post(id, "t", "gift", 1), 400, "validation");
    for (const amount of [0, -1, 1.5, "1"]) expectProblem(await post(id, "t", "deposit", amount), 400, "validation");
    for (const balance of [-1, 0.5, "1", null]) expectProblem(await put(id, balance, 0), 400, "validation");
    expectProblem(await send(account("a".repeat(65))), 400, "validation");
    expect(await balanceOf(id)).toBe(0);
  });
});
