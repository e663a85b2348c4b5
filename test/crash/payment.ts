/** The operation that dies: a payment at a provider that honours references. */
import type { Ichido } from "ichido";

/** Of two processes that share a store: the lease is short, since the second one waits for it. */
export const optionsOfProcesses = {
  dangerouslyShareKeys: true,
  onUnknown: "rerun",
  leaseMs: 400,
  sweepMs: "off",
  onEvent: () => {},
} as const;

export async function pay(ichido: Ichido, providerUrl: string, key = "k1"): Promise<unknown> {
  const request = { operation: "payment.create", scope: { tenant: "t1" }, key, input: { amount: 500 } };
  const { value } = await ichido.run(request, (context) =>
    context.step("bank.charge", async ({ reference }) => {
      const response = await fetch(`${providerUrl}/charges`, {
        method: "POST",
        headers: { "idempotency-key": reference },
        body: JSON.stringify({ amount: 500, currency: "EUR" }),
      });
      if (response.status !== 201) throw new Error(`the provider answered ${response.status}`);
      const { id }: { id?: unknown } = Object(await response.json());
      return { charge: String(id) };
    }),
  );
  return value;
}
