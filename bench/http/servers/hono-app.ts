/** The application that every server on Hono runs. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { getRequestListener } from "@hono/node-server";
import { Hono, type Context, type MiddlewareHandler } from "hono";
import type { Running } from "../contract.ts";
import { effectsNow, keepAliveMs, payment, someFile } from "./payment.ts";

async function pay(c: Context): Promise<Response> {
  await c.req.json();
  const slowMs = c.req.header("x-slow-ms");
  if (slowMs !== undefined) await sleep(Number(slowMs));
  const made = payment();
  return c.json(made, 201, { location: `/payments/${made.id}` });
}

export async function serveHono(protect: readonly MiddlewareHandler[]): Promise<Running> {
  const app = new Hono();
  app.get("/effects", (c) => c.json({ effects: effectsNow() }));
  for (const layer of protect) app.use("*", layer);
  app.post("/payments", pay);
  app.post("/files", (c) => c.body(new Uint8Array(someFile()), 201, { "content-type": "application/octet-stream" }));
  const listener = getRequestListener(app.fetch);
  const server = createServer((req, res) => void listener(req, res)).listen(0, "127.0.0.1");
  server.keepAliveTimeout = keepAliveMs;
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, close: () => server.closeAllConnections() };
}
