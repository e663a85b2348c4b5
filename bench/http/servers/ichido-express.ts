import express from "express";
import { createIchido, type IchidoOptions } from "ichido";
import { captureBody, idempotency } from "ichido/express";
import type { Running, Settings } from "../contract.ts";
import { openStore } from "../stores.ts";
import { serveExpress } from "./express-app.ts";

type Log = Pick<IchidoOptions<express.Request>, "attemptLog">;

export async function startIchido(settings: Settings, log: Log): Promise<Running> {
  const store = await openStore(settings);
  const scope = (req: express.Request) => ({ principal: req.headers.authorization ?? "" });
  const ichido = createIchido({ store, scope, onUnknown: "rerun", ...log });
  await ichido.start();
  return serveExpress([captureBody(), express.json()], [idempotency(ichido, { operation: "payment.create" })]);
}

export const start = (settings: Settings): Promise<Running> => startIchido(settings, {});
