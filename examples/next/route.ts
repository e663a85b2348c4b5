/** `app/payments/route.ts` of a Next.js application. */
import { randomUUID } from "node:crypto";
import { createIchido } from "ichido";
import { idempotent } from "ichido/fetch";
import { memoryStore } from "ichido/memory";

/** Stands for your session: whose token it is. Keys belong to that person, whatever token comes with them. */
const users = new Map([
  ["Bearer ann-token", "ann"],
  ["Bearer ben-token", "ben"],
]);
const userOf = (request: Request): string => users.get(request.headers.get("authorization") ?? "") ?? "";

const ichido = createIchido({
  store: memoryStore(), // forgets with the process; docs/guide/stores.md has those that do not
  scope: (request: Request) => ({ principal: userOf(request) }),
  onUnknown: "hold",
});

async function pay(request: Request): Promise<Response> {
  const type = request.headers.get("content-type") ?? "";
  const amount = type.includes("json")
    ? ((await request.json()) as { amount: number }).amount
    : Number((await request.formData()).get("amount"));
  const id = randomUUID();
  return Response.json({ id, amount }, { status: 201, headers: { Location: `/payments/${id}` } });
}

/** Programs send the header; a form that the browser submits has the key in a hidden field. */
const payOnce = idempotent(ichido, { operation: "payment.create" }, pay, { keyField: "idempotencyKey" });

export const POST = (request: Request): Promise<Response> | Response =>
  userOf(request) === "" ? new Response(null, { status: 401 }) : payOnce(request);
