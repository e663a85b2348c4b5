import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import { createIchido } from "ichido";
import { memoryStore } from "ichido/memory";
import { idempotent } from "ichido/node";

const ichido = createIchido<IncomingMessage>({
  store: memoryStore(),
  // From whatever authenticates your callers; the whole header stands in for that here.
  scope: (request) => ({ principal: request.headers.authorization ?? "anonymous" }),
  onUnknown: "hold",
});

const pay = idempotent(ichido, { operation: "payment.create" }, async (request, response, idempotency) => {
  const { amount } = (await json(request)) as { amount: number };
  const id = randomUUID();
  response.writeHead(201, { "content-type": "application/json", location: `/payments/${id}` });
  response.end(JSON.stringify({ id, amount, reference: idempotency?.reference("charge") }));
});

const server = createServer((request, response) => void pay(request, response));
server.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  console.log(`listening on ${JSON.stringify(server.address())}`);
});
