/** `app/payments/route.ts` of a Next.js application. */
import { randomUUID } from "node:crypto";
import { createIchido } from "ichido";
import { idempotent } from "ichido/fetch";
import { memoryStore } from "ichido/memory";

const ichido = createIchido<Request>({
  store: memoryStore(),
  // From your session; the whole header stands in for that here.
  scope: (request) => ({ principal: request.headers.get("authorization") ?? "anonymous" }),
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
export const POST = idempotent(ichido, { operation: "payment.create" }, pay, { keyField: "idempotencyKey" });
