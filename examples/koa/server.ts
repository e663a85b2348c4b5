import { randomUUID } from "node:crypto";
import { json } from "node:stream/consumers";
import Koa from "koa";
import { createIchido } from "ichido";
import { console as ichidoConsole } from "ichido/console";
import { idempotency, type IdempotencyState } from "ichido/koa";
import { memoryStore } from "ichido/memory";

/** Stands for your authentication: whose token it is. Keys belong to that person, whatever token comes with them. */
const users = new Map([
  ["Bearer ann-token", "ann"],
  ["Bearer ben-token", "ben"],
]);
const userOf = (ctx: Koa.Context): string => users.get(ctx.get("authorization")) ?? "";

const ichido = createIchido({
  store: memoryStore(), // forgets with the process; docs/guide/stores.md has those that do not
  scope: (ctx: Koa.Context) => ({ principal: userOf(ctx) }),
  onUnknown: "hold",
});

const app = new Koa<IdempotencyState>();
app.use((ctx, next) => (userOf(ctx) === "" ? ctx.throw(401) : next()));
// For people on call, under any prefix. Who may do what is yours to say.
const authorize = (ctx: Koa.Context) => ({ user: userOf(ctx), can: ["read", "settle"] as const });
app.use(ichidoConsole(ichido, { authorize, at: "/console" }).koa);
// With a body parser in front, captureBody() comes before it.
app.use(idempotency<Koa.Context>(ichido, { operation: "payment.create" }));
app.use(async (ctx) => {
  const { amount } = (await json(ctx.req)) as { amount: number };
  const id = randomUUID();
  ctx.status = 201;
  ctx.set("location", `/payments/${id}`);
  // The reference is for the bank: the same in every attempt.
  ctx.body = { id, amount, reference: ctx.state.idempotency?.reference("charge") };
});

const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  console.log(`listening on ${JSON.stringify(server.address())}`);
});
