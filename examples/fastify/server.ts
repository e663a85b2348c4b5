import { randomUUID } from "node:crypto";
import fastify, { type FastifyRequest } from "fastify";
import { createIchido } from "ichido";
import { idempotency } from "ichido/fastify";
import { memoryStore } from "ichido/memory";

const ichido = createIchido<FastifyRequest>({
  store: memoryStore(),
  // From whatever authenticates your callers; the whole header stands in for that here.
  scope: (request) => ({ principal: request.headers.authorization ?? "anonymous" }),
  onUnknown: "hold",
});

const app = fastify();
await app.register(idempotency, { ichido });
const config = { idempotency: { operation: "payment.create" } } as object;
app.post<{ Body: { amount: number } }>("/payments", { config }, async (request, reply) => {
  const id = randomUUID();
  reply.code(201).header("location", `/payments/${id}`);
  return { id, amount: request.body.amount };
});

await app.listen({ port: Number(process.env["PORT"] ?? 3000), host: "127.0.0.1" });
console.log(`listening on ${JSON.stringify(app.server.address())}`);
