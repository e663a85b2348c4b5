import { randomUUID } from "node:crypto";
import fastify, { type FastifyRequest } from "fastify";
import { createIchido } from "ichido";
import { console as ichidoConsole } from "ichido/console";
import { idempotency } from "ichido/fastify";
import { memoryStore } from "ichido/memory";

/** Stands for your authentication: whose token it is. Keys belong to that person, whatever token comes with them. */
const users = new Map([
  ["Bearer ann-token", "ann"],
  ["Bearer ben-token", "ben"],
]);
const userOf = (request: FastifyRequest): string => users.get(request.headers.authorization ?? "") ?? "";

const ichido = createIchido({
  store: memoryStore(), // forgets with the process; docs/guide/stores.md has those that do not
  scope: (request: FastifyRequest) => ({ principal: userOf(request) }),
  onUnknown: "hold",
});

const app = fastify();
app.addHook("onRequest", async (request, reply) => {
  if (userOf(request) === "") await reply.code(401).send();
});
await app.register(idempotency, { ichido });
const config = { idempotency: { operation: "payment.create" } };
app.post<{ Body: { amount: number } }>("/payments", { config }, async (request, reply) => {
  const id = randomUUID();
  const reference = request.idempotency?.reference("charge"); // for the bank: the same in every attempt
  reply.code(201).header("location", `/payments/${id}`);
  return { id, amount: request.body.amount, reference };
});

// For people on call, under any prefix. Who may do what is yours to say.
const authorize = (request: FastifyRequest) => ({ user: userOf(request), can: ["read", "settle"] as const });
await app.register(ichidoConsole(ichido, { authorize }).fastify, { prefix: "/console" });

await app.listen({ port: Number(process.env["PORT"] ?? 3000), host: "127.0.0.1" });
console.log(`listening on ${JSON.stringify(app.server.address())}`);
