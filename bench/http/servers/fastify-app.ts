/** The application that every server on Fastify runs. */
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { Running } from "../contract.ts";
import { effectsNow, payment, someFile } from "./payment.ts";

async function pay(request: FastifyRequest, reply: FastifyReply): Promise<object> {
  const slowMs = request.headers["x-slow-ms"];
  if (slowMs !== undefined) await sleep(Number(slowMs));
  const made = payment();
  reply.code(201).header("location", `/payments/${made.id}`);
  return made;
}

export async function serveFastify(protect?: (app: FastifyInstance) => Promise<object>): Promise<Running> {
  const app = fastify({ forceCloseConnections: true });
  const options = (await protect?.(app)) ?? {};
  app.get("/effects", async () => ({ effects: effectsNow() }));
  app.post("/payments", options, pay);
  app.post("/files", options, async (_request, reply) =>
    reply.code(201).type("application/octet-stream").send(someFile()),
  );
  await app.listen({ port: 0, host: "127.0.0.1" });
  return { port: (app.server.address() as AddressInfo).port, close: () => app.close() };
}
