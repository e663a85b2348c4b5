/** The bodies of the API. */
import { amount, dateTime, object, uuid } from "./openapi-parts.ts";
import { problems } from "./problems.ts";

const text = { type: "string" } as const;
const id = { type: "string", minLength: 1, maxLength: 64 } as const;
const count = { type: "integer", minimum: 0 } as const;
const currency = { type: "string", pattern: "^[A-Z]{3}$", description: "ISO 4217" } as const;
const transferType = { enum: ["deposit", "withdrawal"] };
const payment = {
  paymentId: uuid,
  bookingId: text,
  amount,
  currency,
  status: { enum: ["requested", "unknown", "captured", "declined", "refunded"] },
  refundedAmount: { ...amount, description: "once something was refunded" },
  createdAt: dateTime,
};

export const schemas = {
  PaymentInput: object({ bookingId: id, amount, currency }),
  Payment: object(
    payment,
    Object.keys(payment).filter((name) => name !== "refundedAmount"),
  ),
  RefundInput: object({ amount }),
  Refund: object({
    refundId: uuid,
    paymentId: uuid,
    amount,
    currency,
    status: { enum: ["captured", "refunded"], description: "of the payment, after this refund" },
    refundedAmount: amount,
    createdAt: dateTime,
  }),
  OrderInput: object({ productId: text, quantity: { type: "integer", minimum: 1, maximum: 1_000_000 } }),
  Order: object({
    orderId: id,
    productId: text,
    quantity: { type: "integer" },
    amount,
    currency,
    status: { enum: ["pending", "paid"] },
    version: { type: "integer" },
    createdAt: dateTime,
  }),
  OrderPayment: object({ amount }),
  PaidOrder: object({ orderId: id, status: { const: "paid" }, note: { const: "already paid" } }, ["orderId", "status"]),
  Notifications: object({
    notifications: {
      type: "array",
      items: object({ orderId: id, eventId: text, message: text, createdAt: dateTime }),
    },
  }),
  Operation: object(
    {
      operationId: text,
      state: { enum: ["processing", "completed", "failed", "unknown"] },
      result: { type: "string", format: "uri-reference" },
    },
    ["operationId", "state"],
  ),
  Product: object({ productId: text, price: amount, currency, stock: { type: "integer" } }),
  TransactionInput: object({ transactionId: id, type: transferType, amount }),
  Transaction: object({
    accountId: id,
    transactionId: id,
    type: transferType,
    amount,
    balance: count,
    createdAt: dateTime,
  }),
  BalanceInput: object({ newBalance: count, previousBalance: count }),
  Account: object({ accountId: id, balance: count, version: count }),
  UserInput: { ...object({ name: { type: "string", minLength: 1, maxLength: 200 } }), additionalProperties: true },
  UserPatch: { type: "object", description: "JSON merge patch (RFC 7396)", additionalProperties: true },
  User: { ...object({ userId: id, name: text }), additionalProperties: true },
  Problem: {
    additionalProperties: true,
    ...object(
      {
        type: { type: "string", format: "uri" },
        title: text,
        status: { type: "integer" },
        detail: text,
        code: {
          type: "string",
          description: `of the shop: ${Object.keys(problems).join(", ")}; of the keys: see the policy`,
        },
        retryable: { type: "boolean" },
      },
      ["type", "title", "status", "code"],
    ),
  },
} as const;
