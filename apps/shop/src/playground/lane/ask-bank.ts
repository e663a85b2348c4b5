/** What the protected lane does about an attempt that vanished: its row first, then the bank, by reference. */
import type { OnUnknown } from "ichido";
import type { LaneParts } from "./lane.ts";
import { receiptOf } from "./take-payment.ts";

export function askBank({ bank, payments, tell, onUnknown }: LaneParts): OnUnknown {
  if (onUnknown !== "verify") return onUnknown;
  return {
    verify: async ({ reference: referenceOf, signal }) => {
      const reference = referenceOf("bank.charge");
      const payment = await payments.find(reference);
      // The row is written before the charge: without a row there is no charge.
      if (payment === undefined) return { verdict: "absent" };
      const found = await bank.find(reference, signal);
      tell({ what: "asked-bank", reference, detail: found.outcome });
      if (found.outcome === "absent") return { verdict: "absent" };
      if (found.outcome !== "captured") return { verdict: "not-visible-yet" };
      await payments.settle(reference, found.chargeId);
      const { chargeId } = found;
      return { verdict: "found", response: { status: 201, body: receiptOf({ ...payment, chargeId }) } };
    },
  };
}
