/**
 * Settles what is open while nobody asks for it (ADR-010). A record is taken under a fence before the bank is asked, so
 * that of several shops one asks; its callers go on getting the interim answer meanwhile.
 */
import type { Request } from "express";
import { createReconciler, type DrainPart, type Ichido } from "ichido";
import { settleForgottenRows } from "./forgotten-rows.ts";
import { paymentVerdict } from "./http/payment-answers.ts";
import { CHARGE, paymentOperation } from "./http/payment-routes.ts";
import { refundVerdict } from "./http/refund-answers.ts";
import { REFUND, refundOperation } from "./http/refund-routes.ts";
import type { PaymentPorts } from "./payments/create-payment.ts";
import type { RefundPorts } from "./payments/create-refund.ts";
import { reconcilePayment } from "./payments/reconcile-payment.ts";
import { recoverRefund } from "./payments/recover-refund.ts";

export interface OpenOutcomesOptions {
  readonly ichido: Ichido<Request>;
  readonly ports: PaymentPorts & RefundPorts;
  readonly gatewayTimeoutMs: number;
}

/** Also how soon a silent bank is asked again, and then after twice that, and so on. */
const EVERY_MS = 500;
const VERIFY_MARGIN_MS = 2_000;
/** What a lease can cover. */
const VERIFY_MS_MAX = 50_000;

/** Gives back how to stop it: what is under way at the bank is broken off, and found out by whoever looks next. */
export function reconcileOpenOutcomes({ ichido, ports, gatewayTimeoutMs }: OpenOutcomesOptions): DrainPart {
  const stopping = new AbortController();
  const orStopping = (signal: AbortSignal): AbortSignal => AbortSignal.any([signal, stopping.signal]);
  const reconciler = createReconciler(ichido, {
    operations: {
      [paymentOperation.operation]: {
        verify: async ({ reference, signal }) =>
          paymentVerdict(await reconcilePayment(ports, reference(CHARGE), orStopping(signal))),
      },
      [refundOperation.operation]: {
        verify: async ({ reference, signal }) =>
          refundVerdict(await recoverRefund(ports, reference(REFUND), orStopping(signal))),
      },
    },
    everyMs: EVERY_MS,
    olderThanMs: 0,
    // The bank is asked and then perhaps told to charge.
    verifyMs: Math.min(2 * gatewayTimeoutMs + VERIFY_MARGIN_MS, VERIFY_MS_MAX),
  });
  reconciler.start();
  const stopRows = settleForgottenRows(ports);
  return {
    async stop(options) {
      stopping.abort();
      await Promise.all([reconciler.stop(options), stopRows()]);
    },
  };
}
