/** The buyer in front of the protected lane: `ichido/client`. */
import { createClient } from "ichido/client";
import type { BuyerParts, Cart, Rules, Said } from "./buyer.ts";

export async function payWithKey(
  { run, ...order }: Cart,
  { baseUrl, storage, signal, onTry }: BuyerParts,
  retry: Rules,
): Promise<Said> {
  const client = createClient({ baseUrl, storage, retry });
  // Named after what the buyer wants, so that a second click, a reload and another tab have the same key.
  const attempt = await client.createAttempt(`checkout:${order.orderId}`, order);
  onTry?.(1);
  const result = await client.post("/payments", {
    attempt,
    json: order,
    headers: { "playground-run": run },
    ...(signal === undefined ? {} : { signal }),
    onRetry: ({ tries }) => onTry?.(tries + 1),
  });
  const paid = result.kind === "done";
  return {
    status: result.answer?.status,
    paid,
    replayed: result.kind === "done" && result.replayed,
    tries: result.tries,
  };
}
