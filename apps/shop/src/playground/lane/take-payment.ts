/** The handler of both lanes, line for line the same in both. */
import { randomUUID } from "node:crypto";
import type { Request, RequestHandler } from "express";
import type { LaneParts } from "./lane.ts";
import type { Order, Payment } from "./payments.ts";

export function takePayment({ bank, payments, reach, tell }: LaneParts): RequestHandler {
  return async (request: Request, response) => {
    await reach("after-claim");
    const order = request.body as Order;
    // Under a key the same on every attempt. Without one, nothing says that a retry is one.
    const reference = request.idempotency?.reference("bank.charge") ?? `payment-${randomUUID()}`;
    await payments.open(reference, order);
    tell({ what: "charge", reference });
    const charge = await bank.charge({ reference, ...order }, AbortSignal.timeout(10_000));
    if (charge.outcome !== "captured") throw new Error(`the bank's answer: ${charge.outcome}`);
    await reach("after-charge");
    await payments.settle(reference, charge.chargeId);
    await reach("row-settled");
    response.status(201).json(receiptOf({ reference, ...order, chargeId: charge.chargeId }));
  };
}

/** What the buyer gets; of a payment that a vanished attempt made, too. */
export function receiptOf({ orderId, amount, currency, chargeId }: Payment): object {
  return { orderId, amount, currency, chargeId, status: "paid" };
}
