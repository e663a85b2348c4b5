import type { Framework } from "./program.ts";

export const koa: Framework = {
  packages: ["koa"],
  devPackages: ["@types/koa"],
  sign: "koa",
  request: { type: "Context", from: "koa" },
  token: 'request.get("authorization")',
  file: "server",
  start: (file) => `node ${file}`,
  program: (engine) => `import { randomUUID } from "node:crypto";
import { json } from "node:stream/consumers";
import Koa from "koa";
import { idempotency, type IdempotencyState } from "ichido/koa";
import { ichido, payment, userOf } from "${engine}";

await ichido.start(); // tells at once what is wrong with the set-up

const app = new Koa<IdempotencyState>();
app.use((ctx, next) => (userOf(ctx) === "" ? ctx.throw(401) : next()));
app.use((ctx, next) => (ctx.method === "POST" && ctx.path === "/payments" ? next() : ctx.throw(404)));
// With a body parser in front, captureBody() comes before it.
app.use(idempotency<Koa.Context>(ichido, payment));
app.use(async (ctx) => {
  const { amount } = (await json(ctx.req)) as { amount: number };
  const id = randomUUID();
  ctx.status = 201;
  ctx.set("location", \`/payments/\${id}\`);
  // The reference is for the bank: the same in every attempt.
  ctx.body = { id, amount, reference: ctx.state.idempotency?.reference("charge") };
});

const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  console.log(\`listening on \${JSON.stringify(server.address())}\`);
});
`,
};
