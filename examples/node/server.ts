import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import { createIchido } from "ichido";
import { console as ichidoConsole } from "ichido/console";
import { memoryStore } from "ichido/memory";
import { idempotent } from "ichido/node";

/** Stands for your authentication: whose token it is. Keys belong to that person, whatever token comes with them. */
const users = new Map([
  ["Bearer ann-token", "ann"],
  ["Bearer ben-token", "ben"],
]);
const userOf = (request: IncomingMessage): string => users.get(request.headers.authorization ?? "") ?? "";

const ichido = createIchido({
  store: memoryStore(), // forgets with the process; docs/guide/stores.md has those that do not
  scope: (request: IncomingMessage) => ({ principal: userOf(request) }),
  onUnknown: "hold",
});

const pay = idempotent(ichido, { operation: "payment.create" }, async (request, response, idempotency) => {
  const { amount } = (await json(request)) as { amount: number };
  const id = randomUUID();
  const reference = idempotency?.reference("charge"); // for the bank: the same in every attempt
  response.writeHead(201, { "content-type": "application/json", location: `/payments/${id}` });
  response.end(JSON.stringify({ id, amount, reference }));
});

// For people on call, under any prefix. Who may do what is yours to say.
const authorize = (request: IncomingMessage) => ({ user: userOf(request), can: ["read", "settle"] as const });
const look = ichidoConsole(ichido, { authorize, at: "/console" });

const server = createServer((request, response) => {
  if (userOf(request) === "") response.writeHead(401).end();
  else look(request, response, () => void pay(request, response));
});
server.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  console.log(`listening on ${JSON.stringify(server.address())}`);
});
