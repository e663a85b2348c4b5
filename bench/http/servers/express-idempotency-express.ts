/** express-idempotency, mounted as its readme says. */
import express from "express";
import * as library from "express-idempotency";
import type { Running } from "../contract.ts";
import { file, pay, serveExpress } from "./express-app.ts";

export function start(): Promise<Running> {
  const protect = library.idempotency() as unknown as express.RequestHandler;
  const unlessHit =
    (handler: express.RequestHandler): express.RequestHandler =>
    (req, res, next) =>
      library.getSharedIdempotencyService().isHit(req as never) ? undefined : handler(req, res, next);
  return serveExpress([express.json()], [protect], { pay: unlessHit(pay), file: unlessHit(file) });
}
