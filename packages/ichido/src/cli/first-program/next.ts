import type { Framework } from "./program.ts";

export const next: Framework = {
  packages: ["next", "react", "react-dom"],
  sign: "next",
  request: { type: "Request" },
  token: 'request.headers.get("authorization")',
  file: "app/payments/route",
  start: () => "npx next dev",
  program: (engine) => `import { randomUUID } from "node:crypto";
import { idempotent } from "ichido/fetch";
import { ichido, payment, userOf } from "${engine}";

const payOnce = idempotent(ichido, payment, async (request: Request, idempotency) => {
  const { amount } = (await request.json()) as { amount: number };
  const id = randomUUID();
  const reference = idempotency?.reference("charge"); // for the bank: the same in every attempt
  return Response.json({ id, amount, reference }, { status: 201, headers: { Location: \`/payments/\${id}\` } });
});

export const POST = (request: Request): Promise<Response> | Response =>
  userOf(request) === "" ? new Response(null, { status: 401 }) : payOnce(request);
`,
};
