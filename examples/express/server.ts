import { randomUUID } from "node:crypto";
import express from "express";
import { createIchido } from "ichido";
import { captureBody, idempotency } from "ichido/express";
import { memoryStore } from "ichido/memory";

const ichido = createIchido<express.Request>({
  store: memoryStore(),
  // From whatever authenticates your callers; the whole header stands in for that here.
  scope: (req) => ({ principal: req.get("authorization") ?? "anonymous" }),
  onUnknown: "hold",
});

const app = express();
app.use(captureBody(), express.json());
app.post("/payments", idempotency(ichido, { operation: "payment.create" }), (req, res) => {
  const { amount } = req.body as { amount: number };
  const id = randomUUID();
  res
    .status(201)
    .location(`/payments/${id}`)
    .json({ id, amount, reference: req.idempotency?.reference("charge") });
});

const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  console.log(`listening on ${JSON.stringify(server.address())}`);
});
