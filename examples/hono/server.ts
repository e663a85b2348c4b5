import { randomUUID } from "node:crypto";
import { serve } from "@hono/node-server";
import { Hono, type Context } from "hono";
import { createIchido } from "ichido";
import { idempotency, type IdempotencyVariables } from "ichido/hono";
import { memoryStore } from "ichido/memory";

type Env = { Variables: IdempotencyVariables };

const ichido = createIchido<Context<Env>>({
  store: memoryStore(),
  // From whatever authenticates your callers; the whole header stands in for that here.
  scope: (c) => ({ principal: c.req.header("authorization") ?? "anonymous" }),
  onUnknown: "hold",
});

const app = new Hono<Env>();
app.post("/payments", idempotency<Context<Env>>(ichido, { operation: "payment.create" }), async (c) => {
  const { amount } = await c.req.json<{ amount: number }>();
  const id = randomUUID();
  const reference = c.var.idempotency.reference("charge");
  return c.json({ id, amount, reference }, 201, { Location: `/payments/${id}` });
});

serve({ fetch: app.fetch, port: Number(process.env["PORT"] ?? 3000), hostname: "127.0.0.1" }, (address) => {
  console.log(`listening on ${JSON.stringify(address)}`);
});
