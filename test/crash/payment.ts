/** The operation that dies: a payment at a provider that honours references. */
import type { Ichido } from "ichido";

export async function pay(ichido: Ichido, providerUrl: string): Promise<unknown> {
  const request = { operation: "payment.create", scope: { tenant: "t1" }, key: "k1", input: { amount: 500 } };
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
