import { describe, expect, it } from "vitest";
import { createFetch, idempotentFetch, memoryStorage } from "ichido/client";
import type { FetchOptions, IdempotentFetch, UnknownOutcomeError } from "ichido/client";
import { bench, order, type Bench } from "./payment-bench.ts";

const retry = { backoffMs: 10, backoffMsMax: 50, callTimeoutMs: 2_000, deadlineMs: 20_000 };
const fetchOf = (options: FetchOptions = {}): IdempotentFetch =>
  createFetch({ storage: memoryStorage(), retry, ...options });

const paying = {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(order),
};
const paymentsOf = (all: Bench): string => new URL("/payments", all.proxy.url).href;

describe("a drop-in for fetch", () => {
  it("POST: one key over all tries, one effect, an ordinary Response", async () => {
    const all = await bench();
    all.proxy.cut({ direction: "to-client", pattern: "HTTP/1.1 201", place: "before" });
    const response = await fetchOf()(paymentsOf(all), paying);
    expect(response).toBeInstanceOf(Response);
    expect(response.status).toBe(201);
    expect(response.url).toBe(paymentsOf(all));
    expect(response.headers.get("idempotency-replayed")).toBe("true");
    expect(await response.json()).toMatchObject({ id: 1 });
    expect(new Set(all.keys).size).toBe(1);
    expect(all.effects()).toBe(1);
  });

  it("a body cut in the middle is retried before the caller sees any of it", async () => {
    const all = await bench();
    all.proxy.cut({ direction: "to-client", pattern: "xxxxxxxxxx", place: "before" });
    expect(await (await fetchOf()(paymentsOf(all), paying)).json()).toMatchObject({ id: 1 });
    expect(all.effects()).toBe(1);
  });

  it("two calls are two intents; with one attempt they are one", async () => {
    const all = await bench();
    const send = fetchOf();
    await send(paymentsOf(all), paying);
    await send(paymentsOf(all), paying);
    expect(all.effects()).toBe(2);
    const attempt = await send.attempts.create("pay", order);
    await send(paymentsOf(all), { ...paying, attempt });
    await send(paymentsOf(all), { ...paying, attempt });
    expect(all.effects()).toBe(3);
    expect(new Set(all.keys).size).toBe(3);
  });

  it("never a key on GET, nor on other methods without an attempt", async () => {
    const seen: [string, string | null][] = [];
    const spy: typeof fetch = async (_input, init) => {
      seen.push([init?.method ?? "GET", new Headers(init?.headers).get("idempotency-key")]);
      return new Response(null, { status: 204 });
    };
    const send = fetchOf({ fetch: spy });
    const attempt = await send.attempts.create("a", 1);
    const url = "http://127.0.0.1/x";
    await send(url, { attempt });
    for (const method of ["PUT", "DELETE", "POST", "PATCH"]) await send(url, { method });
    await send(url, { method: "DELETE", attempt });
    const some = expect.stringMatching(/^[0-9a-f-]{36}$/);
    expect(seen).toEqual([
      ["GET", null],
      ["PUT", null],
      ["DELETE", null],
      ["POST", some],
      ["PATCH", some],
      ["DELETE", attempt.key],
    ]);
  });

  it("a key header of one's own is left alone, and retried under", async () => {
    const all = await bench();
    all.front.push((res) => void res.status(503).end());
    const headers = { ...paying.headers, "Idempotency-Key": '"my own key"' };
    expect((await fetchOf()(paymentsOf(all), { ...paying, headers })).status).toBe(201);
    expect(all.keys).toEqual(['"my own key"', '"my own key"']);
  });

  it("takes Request objects and streams, and sends them as often as it needs", async () => {
    const all = await bench();
    all.front.push((res) => void res.status(503).end());
    expect((await fetchOf()(new Request(paymentsOf(all), paying))).status).toBe(201);
    all.front.push((res) => void res.status(503).end());
    const body = new Blob([JSON.stringify(order)]).stream();
    expect((await fetchOf()(paymentsOf(all), { ...paying, body })).status).toBe(201);
    expect(all.effects()).toBe(2);
  });

  it.each([
    ["a text", ""],
    ["bytes", new Uint8Array()],
    ["a form", new URLSearchParams()],
    ["nothing", undefined],
  ])("an empty body is sent as often as it needs: %s", async (_, body) => {
    const all = await bench();
    all.front.push((res) => void res.status(503).end());
    const empty = { method: "POST", ...(body !== undefined && { body }) };
    expect((await fetchOf()(paymentsOf(all), empty)).status).toBe(201);
    expect((await fetchOf()(new Request(paymentsOf(all), empty))).status).toBe(201);
    expect(all.keys).toHaveLength(3);
  });

  it("a refusal is a Response, as with fetch", async () => {
    const all = await bench();
    all.plan.push((res) => void res.status(402).json({ code: "card-declined" }));
    const response = await fetchOf()(paymentsOf(all), paying);
    expect(response.status).toBe(402);
    expect(response.ok).toBe(false);
  });

  it("an unknown outcome is an error that carries the attempt: sent again, it is the same request", async () => {
    const all = await bench();
    const send = fetchOf();
    all.proxy.cut({ direction: "to-client", pattern: "HTTP/1.1 201", place: "before" });
    const lost = await send(paymentsOf(all), { ...paying, retry: { triesMax: 1 } }).catch((error: unknown) => error);
    expect(lost).toMatchObject({
      name: "UnknownOutcomeError",
      code: "outcome-unknown",
      reason: "tries",
      key: all.keys[0],
    });
    const { attempt } = lost as UnknownOutcomeError;
    const again = await send(paymentsOf(all), { ...paying, attempt });
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(all.effects()).toBe(1);
  });

  it.each([
    ["that scripts may not see", async () => Response.error()],
    ["of a status that no Response has", undefined],
  ])("carries the attempt also after an answer %s", async (_, hidden) => {
    const all = await bench();
    all.always.push((res) => void res.socket?.end("HTTP/1.1 999 Denied\r\nContent-Length: 0\r\n\r\n"));
    const send = fetchOf({ ...(hidden && { fetch: hidden }), retry: { ...retry, triesMax: 1 } });
    const attempt = await send.attempts.create("pay", order);
    const lost = send(paymentsOf(all), { ...paying, attempt });
    await expect(lost).rejects.toMatchObject({ name: "UnknownOutcomeError", key: attempt.key, response: undefined });
  });

  it("abort: before sending as fetch does, after sending with the key", async () => {
    const all = await bench();
    const send = fetchOf();
    const before = send(paymentsOf(all), { ...paying, signal: AbortSignal.abort() });
    await expect(before).rejects.toMatchObject({ name: "AbortError" });
    const abort = new AbortController();
    all.plan.push(async () => {
      abort.abort();
      await new Promise((resolve) => setTimeout(resolve, 50));
    });
    const after = send(paymentsOf(all), { ...paying, signal: abort.signal });
    await expect(after).rejects.toMatchObject({ code: "outcome-unknown", reason: "aborted" });
  });

  it("the ready-made one does the same", async () => {
    const all = await bench();
    expect((await idempotentFetch(paymentsOf(all), paying)).status).toBe(201);
    const attempt = await fetchOf().attempts.create("pay", order);
    expect((await idempotentFetch(paymentsOf(all), { ...paying, attempt })).status).toBe(201);
    expect(all.keys[1]).toBe(attempt.key);
  });
});
