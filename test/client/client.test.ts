import express from "express";
import type { Server } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { createIchido, type Ichido } from "ichido";
import { createClient, memoryStorage, type Client, type ClientOptions } from "ichido/client";
import { captureBody, idempotency } from "ichido/express";
import { memoryStore } from "ichido/memory";
import { createFaultProxy, type FaultProxy } from "ichido/testing";

interface Bench {
  readonly proxy: FaultProxy;
  readonly client: Client;
  /** Keys as the server saw them, in order. */
  readonly keys: string[];
  readonly effects: () => number;
  /** What the handler does next, in order; then it answers 201. */
  readonly plan: ((res: express.Response) => void | Promise<void>)[];
  make(options?: ClientOptions): Client;
}

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function bench(): Promise<Bench> {
  const keys: string[] = [];
  const plan: Bench["plan"] = [];
  let effects = 0;
  const ichido: Ichido<express.Request> = createIchido({
    store: memoryStore(),
    scope: () => ({ tenant: "t" }),
    onUnknown: "rerun",
    sweepMs: "off",
  });
  const app = express();
  app.use((req, _res, next) => {
    const key = req.get("idempotency-key");
    if (req.method !== "GET" && key !== undefined) keys.push(key);
    next();
  });
  app.get("/.well-known/idempotency", (_req, res) => {
    res.json({ header: "Idempotency-Key", retention: { duration: "PT2H" }, key: { form: "strict" }, operations: [] });
  });
  const front: ((res: express.Response) => boolean)[] = [];
  app.use((_req, res, next) => {
    const first = front.shift();
    if (first === undefined || !first(res)) next();
  });
  app.use(captureBody(), express.json());
  app.post("/payments", idempotency(ichido, { operation: "payment.create" }), async (_req, res) => {
    const next = plan.shift();
    if (next !== undefined) {
      await next(res);
      if (res.headersSent) return;
    }
    effects += 1;
    res.status(201).json({ id: effects, padding: "x".repeat(2_000) });
  });
  const server = await new Promise<Server>((resolve) => {
    const listening = app.listen(0, "127.0.0.1", () => resolve(listening));
  });
  const { port } = server.address() as { port: number };
  const proxy = await createFaultProxy({ target: `http://127.0.0.1:${port}` });
  cleanups.push(
    async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
    () => ichido.close(),
    () => proxy.close(),
  );
  const retry = { pauseMs: 10, pauseMsMax: 50, timeoutMs: 2_000, deadlineMs: 20_000 };
  const make = (options: ClientOptions = {}): Client =>
    createClient({ baseUrl: proxy.url, storage: memoryStorage(), retry, ...options });
  return { proxy, client: make(), keys, effects: () => effects, plan, make };
}

const order = { bookingId: "b-1", amount: 100 };

async function pay({ client }: Pick<Bench, "client">, more = {}): ReturnType<Client["post"]> {
  return client.post("/payments", { attempt: await client.createAttempt("pay:b-1", order), json: order, ...more });
}

describe("one intent, one key, one effect, whatever the network does", () => {
  it("sends once when nothing fails", async () => {
    const all = await bench();
    const result = await pay(all);
    expect(result).toMatchObject({ kind: "done", replayed: false, tries: 1 });
    expect(result.kind === "done" && (result.answer.json() as { id: number }).id).toBe(1);
  });

  it.each([
    ["the request is lost", "to-server", "POST /payments", "before"],
    ["the answer is lost", "to-client", "HTTP/1.1 201", "before"],
    ["the body of the answer is cut in the middle", "to-client", "xxxxxxxxxx", "before"],
  ] as const)("%s: same key again, one effect", async (_, direction, pattern, place) => {
    const all = await bench();
    all.proxy.cut({ direction, pattern, place });
    const result = await pay(all);
    expect(result.kind).toBe("done");
    expect(result.tries).toBe(2);
    expect(all.effects()).toBe(1);
    expect(new Set(all.keys).size).toBe(1);
    if (place === "before" && direction === "to-client") expect(result).toMatchObject({ replayed: true });
  });

  it("the connection is refused for a while: same key again, one effect", async () => {
    const all = await bench();
    all.proxy.admit("reset");
    setTimeout(() => all.proxy.admit("pass"), 100);
    expect((await pay(all)).kind).toBe("done");
    expect(all.effects()).toBe(1);
  });

  it("a server that does not answer in time: the second try waits for the first one's answer", async () => {
    const all = await bench();
    all.plan.push(() => new Promise((resolve) => setTimeout(resolve, 600)));
    const result = await pay(all, { retry: { timeoutMs: 150, pauseMs: 10, pauseMsMax: 20, tries: 30 } });
    expect(result).toMatchObject({ kind: "done", replayed: true });
    expect(all.effects()).toBe(1);
    expect(new Set(all.keys).size).toBe(1);
  });

  it("503 then 201, and 500 under the same key", async () => {
    const all = await bench();
    all.plan.push((res) => void res.status(503).end());
    all.plan.push((res) => void res.status(500).end());
    expect(await pay(all)).toMatchObject({ kind: "done", tries: 3 });
    expect(all.effects()).toBe(1);
    expect(new Set(all.keys).size).toBe(1);
  });

  it("429 with Retry-After is honoured", async () => {
    const all = await bench();
    all.plan.push((res) => void res.status(429).set("retry-after", "1").end());
    const pauses: number[] = [];
    await pay(all, { onRetry: ({ pauseMs }: { pauseMs: number }) => pauses.push(pauseMs) });
    expect(pauses[0]).toBeGreaterThanOrEqual(1_000);
  });

  it("202 with Retry-After is asked again as long as it may, then it is unknown", async () => {
    const all = await bench();
    all.plan.push((res) => void res.status(202).set("retry-after", "0").end());
    const result = await pay(all, { retry: { tries: 4, pauseMs: 1 } });
    expect(result).toMatchObject({ kind: "unknown", reason: "tries", tries: 4 });
  });
});

describe("results are values", () => {
  it("a declined card is declined, and the next attempt of that name has a new key", async () => {
    const all = await bench();
    all.plan.push((res) => void res.status(402).type("application/problem+json").send('{"code":"card-declined"}'));
    const declined = await pay(all);
    expect(declined).toMatchObject({ kind: "declined", keyKept: false, problem: { code: "card-declined" }, tries: 1 });
    const again = await pay(all);
    expect(again.kind).toBe("done");
    expect(again.key).not.toBe(declined.key);
  });

  it("401 declines but keeps the key: log in and send again", async () => {
    const all = await bench();
    all.plan.push((res) => void res.status(401).end());
    const refused = await pay(all);
    expect(refused).toMatchObject({ kind: "declined", keyKept: true });
    expect((await pay(all)).key).toBe(refused.key);
  });

  it("outcome-unknown is unknown at once, with the attempt to ask again", async () => {
    const all = await bench();
    const problem = JSON.stringify({ code: "outcome-unknown", retryable: false });
    all.plan.push((res) => void res.status(409).type("application/problem+json").send(problem));
    const result = await pay(all);
    expect(result).toMatchObject({ kind: "unknown", reason: "server", tries: 1 });
    expect(result.kind === "unknown" && result.attempt.resumed).toBe(true);
  });

  it("a retryable flag decides over the status", async () => {
    const all = await bench();
    const body = (retryable: boolean): string => JSON.stringify({ code: "own", retryable });
    all.plan.push((res) => void res.status(429).type("application/problem+json").send(body(true)));
    all.plan.push((res) => void res.status(500).type("application/problem+json").send(body(false)));
    expect(await pay(all)).toMatchObject({ kind: "unknown", reason: "server", tries: 2 });
  });

  it("an aborted send is unknown, not an exception", async () => {
    const all = await bench();
    const abort = new AbortController();
    all.plan.push(async () => {
      abort.abort();
      await new Promise((resolve) => setTimeout(resolve, 50));
    });
    expect(await pay(all, { signal: abort.signal })).toMatchObject({ kind: "unknown", reason: "aborted" });
    const aborted = AbortSignal.abort();
    expect(await pay(all, { signal: aborted })).toMatchObject({ kind: "unknown", reason: "aborted", tries: 0 });
  });

  it("gives up at the total deadline and when the retry budget is empty", async () => {
    const all = await bench();
    all.proxy.admit("reset");
    expect(await pay(all, { retry: { deadlineMs: 200, pauseMs: 150, pauseMsMax: 300 } })).toMatchObject({
      reason: "deadline",
    });
    const client = all.make({ retry: { budget: 1, pauseMs: 1 } });
    expect(await pay({ client })).toMatchObject({ kind: "unknown", reason: "budget", tries: 2 });
  });
});

describe("attempts", () => {
  it("survive a reload: another client on the same storage sends the same key and gets the first answer", async () => {
    const all = await bench();
    const storage = memoryStorage();
    all.proxy.cut({ direction: "to-client", pattern: "HTTP/1.1 201", place: "before" });
    const before = all.make({ storage, retry: { tries: 1 } });
    expect((await pay({ client: before })).kind).toBe("unknown");
    const after = all.make({ storage });
    const attempt = await after.createAttempt("pay:b-1", order);
    expect(attempt.resumed).toBe(true);
    expect(await after.post("/payments", { attempt, json: order })).toMatchObject({ kind: "done", replayed: true });
    expect(all.effects()).toBe(1);
  });

  it("are bound to their payload once sent: a changed payload is an error that says what to do", async () => {
    const all = await bench();
    all.proxy.admit("reset");
    await pay(all, { retry: { tries: 1 } });
    all.proxy.admit("pass");
    const changed = all.client.createAttempt("pay:b-1", { ...order, amount: 200 });
    await expect(changed).rejects.toMatchObject({
      code: "attempt-changed",
      message: expect.stringContaining("startOver"),
    });
    await all.client.startOver("pay:b-1");
    expect((await all.client.createAttempt("pay:b-1", { ...order, amount: 200 })).resumed).toBe(false);
  });

  it("may change freely before anything was sent, and member order does not matter", async () => {
    const { client } = await bench();
    const first = await client.createAttempt("a", { x: 1, y: { b: 2, a: 1 } });
    expect((await client.createAttempt("a", { y: { a: 1, b: 2 }, x: 1 })).key).toBe(first.key);
    expect((await client.createAttempt("a", { x: 2 })).key).not.toBe(first.key);
  });

  it("made twice at once are one", async () => {
    const { client } = await bench();
    const made = await Promise.all(Array.from({ length: 10 }, () => client.createAttempt("a", order)));
    expect(new Set(made.map(({ key }) => key)).size).toBe(1);
  });

  it("a double click is one effect", async () => {
    const all = await bench();
    all.plan.push(() => new Promise((resolve) => setTimeout(resolve, 100)));
    const attempt = await all.client.createAttempt("pay", order);
    const results = await Promise.all([1, 2].map(() => all.client.post("/payments", { attempt, json: order })));
    expect(results.map(({ kind }) => kind)).toEqual(["done", "done"]);
    expect(all.effects()).toBe(1);
  });

  it("older than the server remembers are unknown and are not sent blindly", async () => {
    const all = await bench();
    let nowMs = Date.now();
    const clock = { nowMs: () => nowMs, random: () => 0, sleep: async () => undefined };
    const client = all.make({ clock, storage: memoryStorage() });
    await client.readPolicy();
    all.proxy.admit("reset");
    all.proxy.reset();
    await pay({ client }, { retry: { tries: 1 } });
    all.proxy.admit("pass");
    nowMs += 2 * 3_600_000 + 1;
    expect(await pay({ client })).toMatchObject({ kind: "unknown", reason: "expired", tries: 0 });
    expect(all.effects()).toBe(0);
  });

  it("a clock that moved back changes nothing", async () => {
    const all = await bench();
    let nowMs = Date.now();
    const clock = { nowMs: () => nowMs, random: () => 0, sleep: async () => undefined };
    const client = all.make({ clock });
    all.proxy.cut({ direction: "to-client", pattern: "HTTP/1.1 201", place: "before" });
    await pay({ client }, { retry: { tries: 1 } });
    nowMs -= 3_600_000;
    expect(await pay({ client })).toMatchObject({ kind: "done", replayed: true });
    expect(all.effects()).toBe(1);
  });

  it("broken storage contents are no attempt", async () => {
    const all = await bench();
    const storage = memoryStorage();
    for (const junk of ["{", '{"key":1}', "null"]) {
      await storage.setItem("ichido:attempt:a", junk);
      expect((await all.make({ storage }).createAttempt("a", order)).resumed).toBe(false);
    }
  });

  it("a send without an attempt is refused", async () => {
    const { client } = await bench();
    await expect(client.post("/payments", {} as never)).rejects.toMatchObject({ code: "attempt-missing" });
  });

  it("uses the form that the server publishes", async () => {
    const all = await bench();
    expect(await all.client.readPolicy()).toMatchObject({ quoted: true, retentionMs: 7_200_000 });
    await pay(all);
    expect(all.keys[0]).toMatch(/^"[0-9a-f-]{36}"$/);
  });
});
