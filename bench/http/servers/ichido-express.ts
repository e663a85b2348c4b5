import express from "express";
import { createIchido } from "ichido";
import { captureBody, idempotency } from "ichido/express";
import type { Running, Settings } from "../contract.ts";
import { openStore } from "../stores.ts";
import { serveExpress } from "./express-app.ts";

export async function start(settings: Settings): Promise<Running> {
  const store = await openStore(settings);
  const scope = (req: express.Request) => ({ principal: req.headers.authorization ?? "" });
  const ichido = createIchido({ store, scope, onUnknown: "rerun" });
  await ichido.start();
  return serveExpress([captureBody(), express.json()], [idempotency(ichido, { operation: "payment.create" })]);
}
