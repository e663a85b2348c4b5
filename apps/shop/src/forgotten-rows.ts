/**
 * Settles rows that are still open although their key is not: a person adopted an answer for it, or a Redis forgot it.
 * The reconciler goes by keys, and never comes to them. The bank is asked, and told nothing: for that one needs the key.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { RefundPorts } from "./payments/create-refund.ts";
import type { PaymentPorts } from "./payments/create-payment.ts";
import type { ListOpen, OpenRow } from "./payments/open-rows.ts";
import { recoverPayment } from "./payments/recover-payment.ts";
import { recoverRefund } from "./payments/recover-refund.ts";

const EVERY_MS = 5_000;
/** Younger ones are in hand. */
const OLD_MS = 5_000;
const ROWS_MAX = 50;

type Recover = (reference: string) => Promise<unknown>;

/** Gives back how to stop it. */
export function settleForgottenRows({ payments, refunds, gateway }: PaymentPorts & RefundPorts): () => Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const rounds = [
    round(payments.listOpen, (reference) => recoverPayment({ payments, gateway }, reference, signal)),
    round(refunds.listOpen, (reference) => recoverRefund({ refunds, gateway }, reference, signal)),
  ];
  async function goOn(): Promise<void> {
    while (!signal.aborted) {
      await sleep(EVERY_MS, undefined, { signal }).catch(() => undefined);
      for (const next of rounds) if (!signal.aborted) await next(signal);
    }
  }
  const running = goOn();
  return async () => {
    stopping.abort();
    await running;
  };
}

/** A page at a time, so that rows of which the bank knows nothing keep no others from their turn. */
function round(list: ListOpen, recover: Recover): (signal: AbortSignal) => Promise<void> {
  let afterId = "";
  return async (signal) => {
    const openedBefore = new Date(Date.now() - OLD_MS).toISOString();
    // What fails is tried again; of a database that cannot be reached, the reconciler tells.
    const rows = await list({ afterId, openedBefore, limit: ROWS_MAX }).catch((): readonly OpenRow[] => []);
    afterId = rows.length < ROWS_MAX ? "" : (rows.at(-1)?.id ?? "");
    for (const { reference } of rows) if (!signal.aborted) await recover(reference).catch(() => undefined);
  };
}
