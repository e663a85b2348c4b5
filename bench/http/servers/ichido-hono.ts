import type { Context } from "hono";
import { createIchido } from "ichido";
import { idempotency } from "ichido/hono";
import type { Running, Settings } from "../contract.ts";
import { openStore } from "../stores.ts";
import { serveHono } from "./hono-app.ts";

export async function start(settings: Settings): Promise<Running> {
  const store = await openStore(settings);
  const scope = (c: Context) => ({ principal: c.req.header("authorization") ?? "" });
  const ichido = createIchido({ store, scope, onUnknown: "rerun" });
  await ichido.start();
  return serveHono([idempotency(ichido, { operation: "payment.create" })]);
}
