import type { Framework } from "./program.ts";

export const fastify: Framework = {
  packages: ["fastify"],
  sign: "fastify",
  request: { type: "FastifyRequest", from: "fastify" },
  token: "request.headers.authorization",
  file: "server",
  start: (file) => `node ${file}`,
  program: (engine) => `import { randomUUID } from "node:crypto";
import fastify from "fastify";
import { idempotency } from "ichido/fastify";
import { ichido, payment, userOf } from "${engine}";

await ichido.start(); // tells at once what is wrong with the set-up

const app = fastify();
app.addHook("onRequest", async (request, reply) => {
  if (userOf(request) === "") await reply.code(401).send();
});
await app.register(idempotency, { ichido });
app.post<{ Body: { amount: number } }>("/payments", { config: { idempotency: payment } }, async (request, reply) => {
  const id = randomUUID();
  const reference = request.idempotency?.reference("charge"); // for the bank: the same in every attempt
  reply.code(201).header("location", \`/payments/\${id}\`);
  return { id, amount: request.body.amount, reference };
});

await app.listen({ port: Number(process.env["PORT"] ?? 3000), host: "127.0.0.1" });
console.log(\`listening on \${JSON.stringify(app.server.address())}\`);
`,
};
