/** The application that every server on Express runs: what protects it comes before the handler. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import express from "express";
import type { Running } from "../contract.ts";
import { effectsNow, keepAliveMs, payment, someFile } from "./payment.ts";

function send(res: express.Response): void {
  const made = payment();
  res.status(201).set("location", `/payments/${made.id}`).json(made);
}

export const pay: express.RequestHandler = (req, res) => {
  const slowMs = req.headers["x-slow-ms"];
  if (slowMs === undefined) send(res);
  else setTimeout(send, Number(slowMs), res);
};

export const file: express.RequestHandler = (_req, res) => void res.status(201).type("bin").send(someFile());

export async function serveExpress(
  layers: readonly express.RequestHandler[],
  protect: readonly express.RequestHandler[],
  handlers = { pay, file },
): Promise<Running> {
  const app = express().set("env", "test");
  app.get("/effects", (_req, res) => void res.json({ effects: effectsNow() }));
  app.use(...layers);
  app.post("/payments", ...protect, handlers.pay);
  app.post("/files", ...protect, handlers.file);
  const server = app.listen(0, "127.0.0.1");
  server.keepAliveTimeout = keepAliveMs;
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, close: () => server.closeAllConnections() };
}
