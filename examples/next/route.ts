/** `app/payments/route.ts` of a Next.js application. */
import { randomUUID } from "node:crypto";
import { idempotent } from "ichido/fetch";
import { ichido, userOf } from "./engine.ts";

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
