import { fakeProvider } from "ichido/testing";
import type { FakeProvider } from "ichido/testing";
import { afterEach, describe, expect, test } from "vitest";

let provider: FakeProvider;

afterEach(() => provider.close());

async function charge(reference: string, amount = 500, timeoutMs = 5_000): Promise<Response> {
  return fetch(`${provider.url}/charges`, {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": reference },
    body: JSON.stringify({ amount, currency: "EUR" }),
    signal: AbortSignal.timeout(timeoutMs),
  });
}

describe("fakeProvider", () => {
  test("charges once for each reference and gives the first answer again", async () => {
    provider = await fakeProvider();
    const first = await charge("r1");
    const again = await charge("r1");
    await charge("r2", 700);
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(await again.json()).toEqual(await first.json());
    expect(provider.ledger().map(({ reference, amount }) => [reference, amount])).toEqual([
      ["r1", 500],
      ["r2", 700],
    ]);
    expect([provider.count("r1"), provider.total(), provider.requests("r1"), provider.requests()]).toEqual([
      1, 1200, 2, 3,
    ]);
  });

  test("takes the reference from the body where there is no header", async () => {
    provider = await fakeProvider();
    await fetch(`${provider.url}/charges`, { method: "POST", body: '{"amount":1,"currency":"EUR","reference":"r9"}' });
    expect(provider.count("r9")).toBe(1);
  });

  test("charges every time when it does not honour references", async () => {
    provider = await fakeProvider({ dedupes: false });
    await charge("r1");
    await charge("r1");
    expect(provider.count("r1")).toBe(2);
  });

  test("refuses the same reference with another amount", async () => {
    provider = await fakeProvider();
    await charge("r1", 500);
    expect((await charge("r1", 501)).status).toBe(422);
    expect(provider.total()).toBe(500);
  });

  test("forgets references after its retention by its own clock, never the ledger", async () => {
    let nowMs = 1_000;
    provider = await fakeProvider({ retentionMs: 100, nowMs: () => nowMs });
    await charge("r1");
    nowMs += 99;
    await charge("r1");
    expect(provider.count("r1")).toBe(1);
    nowMs += 1;
    await charge("r1");
    expect(provider.ledger().map(({ atMs }) => atMs)).toEqual([1_000, 1_100]);
  });

  test("timeout-but-charge: the money is taken and nobody is told; the probe finds it", async () => {
    provider = await fakeProvider();
    provider.next("timeout-but-charge");
    await expect(charge("r1", 500, 100)).rejects.toThrow(/timeout|aborted/i);
    expect(provider.count("r1")).toBe(1);
    const found = await (await fetch(`${provider.url}/charges?reference=r1`)).json();
    expect(found).toMatchObject([{ reference: "r1", amount: 500 }]);
    expect((await charge("r1")).status).toBe(201);
    expect(provider.count("r1")).toBe(1);
  });

  test.each([
    ["drop", 0],
    ["charge-and-drop", 1],
  ] as const)("%s: the connection breaks, %i charged", async (mode, charged) => {
    provider = await fakeProvider();
    provider.next(mode);
    await expect(charge("r1")).rejects.toThrow(/fetch failed/);
    expect(provider.count("r1")).toBe(charged);
  });

  test.each([
    ["conflict", 409, 0],
    ["rate-limit", 429, 0],
    ["error", 500, 0],
    ["charge-and-error", 500, 1],
    ["duplicate", 201, 2],
  ] as const)("%s answers %i with %i charged, for as many requests as told", async (mode, status, charged) => {
    provider = await fakeProvider();
    provider.next(mode, 1);
    const response = await charge("r1");
    expect(response.status).toBe(status);
    expect(response.headers.get("retry-after")).toBe(mode === "rate-limit" ? "1" : null);
    expect(provider.count("r1")).toBe(charged);
    expect((await charge("r2")).status).toBe(201);
  });

  test("slow: a second request meanwhile is a conflict, not a second charge", async () => {
    provider = await fakeProvider({ slowMs: 80 });
    provider.mode("slow");
    const [first, second] = await Promise.all([charge("r1"), charge("r1")]);
    expect(new Set([first.status, second.status])).toEqual(new Set([201, 409]));
    expect(provider.count("r1")).toBe(1);
    provider.mode("normal");
    expect((await charge("r1")).status).toBe(201);
  });

  test("refuses what is not a charge", async () => {
    provider = await fakeProvider();
    const post = async (body: string): Promise<number> =>
      (await fetch(`${provider.url}/charges`, { method: "POST", body, headers: { "idempotency-key": "r1" } })).status;
    expect(await post("{")).toBe(400);
    expect(await post('{"amount":1.5,"currency":"EUR"}')).toBe(400);
    expect(await post('{"amount":1}')).toBe(400);
    expect((await fetch(`${provider.url}/refunds`)).status).toBe(404);
    expect(provider.requests()).toBe(0);
  });
});
