/** What a caller must say to order. */
import type { Checked, Fault } from "../http/json-body.ts";
import { AMOUNT, isAmount, membersOf } from "../input.ts";
import type { OrderRequest } from "./order.ts";

const QUANTITY_MAX = 1_000_000;

export function checkOrder(body: unknown): Checked<OrderRequest> {
  const { productId, quantity } = membersOf(body);
  const faults: Fault[] = [];
  if (typeof productId !== "string") faults.push({ member: "productId", expected: "a string" });
  if (!isAmount(quantity) || quantity > QUANTITY_MAX) {
    faults.push({ member: "quantity", expected: `an integer from 1 to ${QUANTITY_MAX}` });
  }
  return faults.length > 0 ? { faults } : { input: { productId, quantity } as OrderRequest };
}

export interface OrderPayment {
  readonly amount: number;
}

export function checkOrderPayment(body: unknown): Checked<OrderPayment> {
  const { amount } = membersOf(body);
  return isAmount(amount) ? { input: { amount } } : { faults: [{ member: "amount", expected: AMOUNT }] };
}
