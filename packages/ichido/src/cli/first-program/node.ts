import type { Framework } from "./program.ts";

export const node: Framework = {
  packages: [],
  devPackages: ["@types/node"],
  sign: "",
  request: { type: "IncomingMessage", from: "node:http" },
  token: "request.headers.authorization",
  file: "server",
  start: (file) => `node ${file}`,
  program: (engine) => `import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { idempotent } from "ichido/node";
import { ichido, payment, userOf } from "${engine}";

await ichido.start(); // tells at once what is wrong with the set-up

const pay = idempotent(ichido, payment, async (request, response, idempotency) => {
  const { amount } = (await json(request)) as { amount: number };
  const id = randomUUID();
  const reference = idempotency?.reference("charge"); // for the bank: the same in every attempt
  response.writeHead(201, { "content-type": "application/json", location: \`/payments/\${id}\` });
  response.end(JSON.stringify({ id, amount, reference }));
});

const server = createServer((request, response) => {
  if (userOf(request) === "") response.writeHead(401).end();
  else if (request.url !== "/payments") response.writeHead(404).end();
  else void pay(request, response);
});
server.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  console.log(\`listening on \${JSON.stringify(server.address())}\`);
});
`,
};
