/** idempotency-backend, mounted as its readme says: the handler itself hands over what is to be kept. */
import { setTimeout as sleep } from "node:timers/promises";
import express from "express";
import protect from "idempotency-backend/express";
import type { Running } from "../contract.ts";
import { serveExpress } from "./express-app.ts";
import { payment, someFile } from "./payment.ts";

interface Session {
  readonly idempotencySession?: { SaveResponse(body: unknown): Promise<void> };
}

const save = async (req: express.Request, body: unknown): Promise<void> =>
  (req as Session).idempotencySession?.SaveResponse(body);

const pay: express.RequestHandler = async (req, res) => {
  const slowMs = req.headers["x-slow-ms"];
  if (slowMs !== undefined) await sleep(Number(slowMs));
  const made = payment();
  await save(req, made);
  res.status(201).set("location", `/payments/${made.id}`).json(made);
};

const file: express.RequestHandler = async (req, res) => {
  const made = someFile();
  await save(req, made);
  res.status(201).type("bin").send(made);
};

export function start(): Promise<Running> {
  return serveExpress([express.json()], [protect as unknown as express.RequestHandler], { pay, file });
}
