/** What the bank did under a reference, for the person on call: every charge, also one too many. */
import type { Probe } from "ichido";

interface Charge {
  readonly chargeId: string;
  readonly amount: number;
  readonly currency: string;
  readonly at: string;
}

export function bankProbe(url: string, timeoutMs: number): Probe {
  return async (reference, { signal }) => {
    const answer = await fetch(`${url}/charges?reference=${encodeURIComponent(reference)}`, {
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      redirect: "error",
    }).catch(() => undefined);
    if (answer?.ok !== true) throw new Error("the bank does not answer");
    const { charges } = (await answer.json()) as { readonly charges: readonly Charge[] };
    return charges.map(({ chargeId, amount, currency, at }) => ({ id: chargeId, amount, currency, at }));
  };
}
