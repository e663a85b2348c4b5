/** Prometheus text: what ichido counts, and the shop's payments. A key, a tenant or a user is never a label. */
import type { Request } from "express";
import type { Ichido } from "ichido";
import { createMetrics } from "ichido/metrics";
import type { EventFlow } from "../events/flow.ts";
import type { PaymentRepository } from "../payments/payment-repository.ts";

export interface Metrics {
  readonly contentType: string;
  text(): Promise<string>;
}

/** Sizes are counted anew at nearly every scrape: a demonstration is small, and whoever looks wants to see it move. */
const SIZES_MS = 50;

export function shopMetrics(
  ichido: Ichido<Request>,
  { outbox, inbox, relay, consumer }: EventFlow,
  payments: Pick<PaymentRepository, "countByStatus">,
): Metrics {
  const metrics = createMetrics(ichido, {
    outbox,
    inbox,
    relays: [relay],
    consumers: [consumer],
    statsMs: SIZES_MS,
    eventStatsMs: SIZES_MS,
  });
  return {
    contentType: metrics.contentType,
    async text() {
      // Without the database, what it would count is left out: the rest is what tells that it is gone.
      const counted = payments.countByStatus().catch(() => ({}));
      const [text, byStatus] = await Promise.all([metrics.text(), counted]);
      const samples = Object.entries(byStatus).map(([status, count]) => `shop_payments{status="${status}"} ${count}`);
      return [`${text}# HELP shop_payments Payments by status.`, "# TYPE shop_payments gauge", ...samples, ""].join(
        "\n",
      );
    },
  };
}
