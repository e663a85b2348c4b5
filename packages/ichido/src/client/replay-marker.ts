/** Whether the answer was given before: our marker, or the one of Stripe-like APIs. */
export function isReplay(headers: Headers): boolean {
  return headers.get("idempotency-replayed") === "true" || headers.get("idempotent-replayed") === "true";
}
