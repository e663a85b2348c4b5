import { randomUUID } from "node:crypto";
import { serve } from "@hono/node-server";
import { Hono, type Context } from "hono";
import { createIchido } from "ichido";
import { console as ichidoConsole } from "ichido/console";
import { idempotency, type IdempotencyVariables } from "ichido/hono";
import { memoryStore } from "ichido/memory";

type Env = { Variables: IdempotencyVariables };

/** Stands for your authentication: whose token it is. Keys belong to that person, whatever token comes with them. */
const users = new Map([
  ["Bearer ann-token", "ann"],
  ["Bearer ben-token", "ben"],
]);
const userOf = (c: Context): string => users.get(c.req.header("authorization") ?? "") ?? "";

const ichido = createIchido<Context<Env>>({
  store: memoryStore(), // forgets with the process; docs/guide/stores.md has those that do not
  scope: (c) => ({ principal: userOf(c) }),
  onUnknown: "hold",
});

const app = new Hono<Env>();
app.use((c, next) => (userOf(c) === "" ? Promise.resolve(c.body(null, 401)) : next()));
app.post("/payments", idempotency<Context<Env>>(ichido, { operation: "payment.create" }), async (c) => {
  const { amount } = await c.req.json<{ amount: number }>();
  const id = randomUUID();
  const reference = c.var.idempotency.reference("charge"); // for the bank: the same in every attempt
  return c.json({ id, amount, reference }, 201, { Location: `/payments/${id}` });
});

// For people on call, under any prefix. Who may do what is yours to say.
const authorize = (c: Context) => ({ user: userOf(c), can: ["read", "settle"] as const });
app.all("/console/*", ichidoConsole(ichido, { authorize }).hono);

serve({ fetch: app.fetch, port: Number(process.env["PORT"] ?? 3000), hostname: "127.0.0.1" }, (address) => {
  console.log(`listening on ${JSON.stringify(address)}`);
});
