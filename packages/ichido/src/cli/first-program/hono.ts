import type { Framework } from "./program.ts";

export const hono: Framework = {
  packages: ["hono", "@hono/node-server"],
  sign: "hono",
  request: { type: "Context", from: "hono" },
  token: 'request.req.header("authorization")',
  file: "server",
  start: (file) => `node ${file}`,
  program: (engine) => `import { randomUUID } from "node:crypto";
import { serve } from "@hono/node-server";
import { Hono, type Context } from "hono";
import { idempotency, type IdempotencyVariables } from "ichido/hono";
import { ichido, payment, userOf } from "${engine}";

await ichido.start(); // tells at once what is wrong with the set-up

const app = new Hono<{ Variables: IdempotencyVariables }>();
app.use((c, next) => (userOf(c) === "" ? Promise.resolve(c.body(null, 401)) : next()));
app.post("/payments", idempotency<Context>(ichido, payment), async (c) => {
  const { amount } = await c.req.json<{ amount: number }>();
  const id = randomUUID();
  const reference = c.var.idempotency.reference("charge"); // for the bank: the same in every attempt
  return c.json({ id, amount, reference }, 201, { Location: \`/payments/\${id}\` });
});

serve({ fetch: app.fetch, port: Number(process.env["PORT"] ?? 3000), hostname: "127.0.0.1" }, (address) => {
  console.log(\`listening on \${JSON.stringify(address)}\`);
});
`,
};
