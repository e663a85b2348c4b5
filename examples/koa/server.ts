import { randomUUID } from "node:crypto";
import { json } from "node:stream/consumers";
import Koa from "koa";
import { createIchido } from "ichido";
import { idempotency, type IdempotencyState } from "ichido/koa";
import { memoryStore } from "ichido/memory";

const ichido = createIchido<Koa.Context>({
  store: memoryStore(),
  // From whatever authenticates your callers; the whole header stands in for that here.
  scope: (ctx) => ({ principal: ctx.get("authorization") || "anonymous" }),
  onUnknown: "hold",
});

const app = new Koa<IdempotencyState>();
// With a body parser in front, captureBody() comes before it.
app.use(idempotency<Koa.Context>(ichido, { operation: "payment.create" }));
app.use(async (ctx) => {
  const { amount } = (await json(ctx.req)) as { amount: number };
  const id = randomUUID();
  ctx.status = 201;
  ctx.set("location", `/payments/${id}`);
  ctx.body = { id, amount, reference: ctx.state.idempotency?.reference("charge") };
});

const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  console.log(`listening on ${JSON.stringify(server.address())}`);
});
