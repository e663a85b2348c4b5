import { randomUUID } from "node:crypto";
import express from "express";
import { createIchido } from "ichido";
import { console as ichidoConsole } from "ichido/console";
import { captureBody, idempotency } from "ichido/express";
import { memoryStore } from "ichido/memory";

/** Stands for your authentication: whose token it is. Keys belong to that person, whatever token comes with them. */
const users = new Map([
  ["Bearer ann-token", "ann"],
  ["Bearer ben-token", "ben"],
]);
const userOf = (req: express.Request): string => users.get(req.get("authorization") ?? "") ?? "";

const ichido = createIchido({
  store: memoryStore(), // forgets with the process; docs/guide/stores.md has those that do not
  scope: (req: express.Request) => ({ principal: userOf(req) }),
  onUnknown: "hold",
});

const app = express();
app.use(captureBody(), express.json());
app.use((req, res, next) => (userOf(req) === "" ? void res.sendStatus(401) : next()));
app.post("/payments", idempotency(ichido, { operation: "payment.create" }), (req, res) => {
  const { amount } = req.body as { amount: number };
  const id = randomUUID();
  const reference = req.idempotency?.reference("charge"); // for the bank: the same in every attempt
  res.status(201).location(`/payments/${id}`).json({ id, amount, reference });
});

// For people on call, under any prefix. Who may do what is yours to say.
const authorize = (req: express.Request) => ({ user: userOf(req), can: ["read", "settle"] as const });
app.use("/console", ichidoConsole(ichido, { authorize }));

const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  console.log(`listening on ${JSON.stringify(server.address())}`);
});
