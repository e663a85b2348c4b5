import type { FastifyRequest } from "fastify";
import { createIchido } from "ichido";
import { idempotency } from "ichido/fastify";
import type { Running, Settings } from "../contract.ts";
import { openStore } from "../stores.ts";
import { serveFastify } from "./fastify-app.ts";

export async function start(settings: Settings): Promise<Running> {
  const store = await openStore(settings);
  const scope = (request: FastifyRequest) => ({ principal: request.headers.authorization ?? "" });
  const ichido = createIchido({ store, scope, onUnknown: "rerun" });
  await ichido.start();
  return serveFastify(async (app) => {
    await app.register(idempotency, { ichido });
    return { config: { idempotency: { operation: "payment.create" } } };
  });
}
