/** Calls of the banks. Whoever gets no answer in time does not know whether money moved, and throws. */
import type { Charge } from "../packages/ichido/src/testing/fake-provider.ts";
import { bankMs } from "./settings.ts";

export async function charge(bankUrl: string, reference: string, amount: number): Promise<string> {
  const response = await fetch(`${bankUrl}/charges`, {
    method: "POST",
    headers: { "idempotency-key": reference },
    body: JSON.stringify({ amount, currency: "EUR" }),
    signal: AbortSignal.timeout(bankMs),
  });
  if (response.status !== 201) throw new Error(`the bank answered ${response.status}`);
  return ((await response.json()) as Charge).id;
}

export async function findCharge(bankUrl: string, reference: string): Promise<Charge | undefined> {
  const response = await fetch(`${bankUrl}/charges?reference=${encodeURIComponent(reference)}`, {
    signal: AbortSignal.timeout(bankMs),
  });
  if (response.status !== 200) throw new Error(`the bank answered ${response.status}`);
  return ((await response.json()) as readonly Charge[])[0];
}
