/** A payment behind Express and ichido, reached through a proxy that fails on demand. */
import express from "express";
import type { Server } from "node:http";
import { afterEach } from "vitest";
import { createIchido, type Ichido } from "ichido";
import { createClient, memoryStorage, type Client, type ClientOptions } from "ichido/client";
import { captureBody, idempotency } from "ichido/express";
import { memoryStore } from "ichido/memory";
import { createFaultProxy, type FaultProxy } from "ichido/testing";

export interface Bench {
  readonly proxy: FaultProxy;
  readonly client: Client;
  /** Keys as the server saw them, in order. */
  readonly keys: string[];
  readonly effects: () => number;
  /** What the handler does next, in order; then it answers 201. */
  readonly plan: ((res: express.Response) => void | Promise<void>)[];
  /** What stands before the idempotency layer answers next, in order; then `always`, where it is set. */
  readonly front: ((res: express.Response) => void)[];
  readonly always: ((res: express.Response) => void)[];
  make(options?: ClientOptions): Client;
}

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

export async function bench(): Promise<Bench> {
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
  const front: Bench["front"] = [];
  const always: Bench["always"] = [];
  app.use((_req, res, next) => {
    const first = front.shift() ?? always[0];
    if (first === undefined) next();
    else first(res);
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
  const retry = { backoffMs: 10, backoffMsMax: 50, callTimeoutMs: 2_000, deadlineMs: 20_000 };
  const make = (options: ClientOptions = {}): Client =>
    createClient({ baseUrl: proxy.url, storage: memoryStorage(), retry, ...options });
  return { proxy, client: make(), keys, effects: () => effects, plan, front, always, make };
}

export const order = { bookingId: "b-1", amount: 100 };

export async function pay({ client }: Pick<Bench, "client">, more = {}): ReturnType<Client["post"]> {
  return client.post("/payments", { attempt: await client.createAttempt("pay:b-1", order), json: order, ...more });
}
