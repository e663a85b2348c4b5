import type { Framework } from "./program.ts";

export const express: Framework = {
  packages: ["express"],
  devPackages: ["@types/express"],
  sign: "express",
  request: { type: "Request", from: "express" },
  token: 'request.get("authorization")',
  file: "server",
  start: (file) => `node ${file}`,
  program: (engine) => `import { randomUUID } from "node:crypto";
import express from "express";
import { captureBody, idempotency } from "ichido/express";
import { ichido, payment, userOf } from "${engine}";

await ichido.start(); // tells at once what is wrong with the set-up

const app = express();
app.use(captureBody(), express.json());
app.use((req, res, next) => (userOf(req) === "" ? void res.sendStatus(401) : next()));
app.post("/payments", idempotency(ichido, payment), (req, res) => {
  const { amount } = req.body as { amount: number };
  const id = randomUUID();
  const reference = req.idempotency?.reference("charge"); // for the bank: the same in every attempt
  res.status(201).location(\`/payments/\${id}\`).json({ id, amount, reference });
});

const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  console.log(\`listening on \${JSON.stringify(server.address())}\`);
});
`,
};
