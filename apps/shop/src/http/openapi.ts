/** `/openapi.json`: what exists, for people and generators. */
import {
  answer,
  body,
  bodyProblems,
  condition,
  etag,
  inPath,
  inQuery,
  key,
  location,
  object,
  other,
  perhapsReplayed,
  perhapsRetryAfter,
  problem,
  replayed,
  retryAfter,
  unauthorized,
  uuid,
} from "./openapi-parts.ts";
import { schemas } from "./openapi-schemas.ts";

const notFound = { "404": problem("not-found") };
const gatewayProblems = {
  "503": problem("gateway-unavailable or store-unavailable: nothing was done", retryAfter),
};

const payments = {
  "/payments": {
    post: {
      operationId: "createPayment",
      summary: "Pay for a booking",
      parameters: [key(true, uuid)],
      requestBody: body("PaymentInput"),
      responses: {
        "201": answer("Charged", "Payment", location),
        "200": answer("The stored answer to this key and content", "Payment", { ...location, ...replayed }),
        "202": answer("The bank has not answered: settled within seconds", "Payment", { ...location, ...retryAfter }),
        "400": problem("validation, idempotency-key-required or idempotency-key-invalid"),
        "402": problem("card-declined; stored, and replayed as 402", perhapsReplayed),
        "409": problem("idempotency-key-reused, idempotency-in-flight or outcome-unknown", perhapsRetryAfter),
        ...bodyProblems,
        ...gatewayProblems,
      },
    },
  },
  "/payments/{paymentId}": {
    get: {
      operationId: "getPayment",
      summary: "A payment of your tenant",
      parameters: [inPath("paymentId", uuid), condition("If-None-Match")],
      responses: {
        "200": answer("The payment", "Payment", etag),
        "304": { description: "Unchanged" },
        ...unauthorized,
        ...notFound,
      },
    },
  },
  "/payments/{paymentId}/refunds": {
    post: {
      operationId: "createRefund",
      summary: "Give back a part of a captured payment, or all of it",
      parameters: [inPath("paymentId", uuid), key(true)],
      requestBody: body("RefundInput"),
      responses: {
        "201": answer("Refunded; the same again for the same key", "Refund", perhapsReplayed),
        "400": problem("validation, idempotency-key-required or idempotency-key-invalid"),
        "402": problem("refund-declined", perhapsReplayed),
        ...notFound,
        "409": problem("amount-exceeds, illegal-transition, idempotency-in-flight or outcome-unknown", {
          ...perhapsRetryAfter,
          ...perhapsReplayed,
        }),
        "422": problem("idempotency-key-reused"),
        ...bodyProblems,
        ...gatewayProblems,
        "504": problem("gateway-timeout: the retry learns what became of the refund", retryAfter),
      },
    },
  },
};

const orders = {
  "/orders": {
    post: {
      operationId: "createOrder",
      summary: "Order, under an id that the shop makes",
      parameters: [key(true)],
      requestBody: body("OrderInput"),
      responses: {
        "201": answer("Ordered; the same again for the same key", "Order", {
          ...location,
          ...etag,
          ...perhapsReplayed,
        }),
        "202": answer("The first request still runs: ask there", "Operation", { ...location, ...retryAfter }),
        "400": problem("validation, unknown-product, idempotency-key-required or idempotency-key-invalid"),
        "409": problem("idempotency-key-reused"),
        ...bodyProblems,
      },
    },
  },
  "/orders/{orderId}": {
    put: {
      operationId: "putOrder",
      summary: "Order, under an id that the client chose",
      parameters: [inPath("orderId")],
      requestBody: body("OrderInput"),
      responses: {
        "201": answer("Ordered", "Order", { ...location, ...etag }),
        "200": answer("The same order was there", "Order", { ...location, ...etag }),
        "400": problem("validation or unknown-product"),
        "409": problem("order-exists"),
        ...bodyProblems,
      },
    },
    get: {
      operationId: "getOrder",
      summary: "An order of your tenant",
      parameters: [inPath("orderId"), condition("If-None-Match")],
      responses: {
        "200": answer("The order", "Order", etag),
        "304": { description: "Unchanged" },
        ...unauthorized,
        ...notFound,
      },
    },
  },
  "/orders/{orderId}/pay": {
    post: {
      operationId: "payOrder",
      summary: "Pay an order, once; its notification and the reduction of stock follow",
      parameters: [inPath("orderId"), key(true)],
      requestBody: body("OrderPayment"),
      responses: {
        "200": answer("Paid, now or before; the same again for the same key", "PaidOrder", perhapsReplayed),
        "400": problem("validation, idempotency-key-required or idempotency-key-invalid"),
        "404": problem("not-found; stored", perhapsReplayed),
        "409": problem("amount-mismatch or idempotency-in-flight", { ...perhapsRetryAfter, ...perhapsReplayed }),
        "422": problem("idempotency-key-reused"),
        ...bodyProblems,
      },
    },
  },
  "/notifications": {
    get: {
      operationId: "getNotifications",
      summary: "What was sent about an order",
      parameters: [inQuery("orderId")],
      responses: {
        "200": answer("The notifications", "Notifications"),
        "400": problem("validation"),
        ...unauthorized,
      },
    },
  },
  "/operations/{operationId}": {
    get: {
      operationId: "getOperation",
      summary: "What became of a request that you sent",
      parameters: [inPath("operationId", { type: "string" })],
      responses: { "200": answer("Its state", "Operation"), ...unauthorized, ...notFound },
    },
  },
  "/products/{productId}": {
    get: {
      operationId: "getProduct",
      summary: "Price and stock",
      parameters: [inPath("productId")],
      responses: { "200": answer("The product", "Product"), ...unauthorized, ...notFound },
    },
  },
};

const accounts = {
  "/accounts/{accountId}": {
    get: {
      operationId: "getAccount",
      summary: "The balance; 0 before first use",
      parameters: [inPath("accountId")],
      responses: { "200": answer("The account", "Account"), ...unauthorized },
    },
  },
  "/accounts/{accountId}/transactions": {
    post: {
      operationId: "postTransaction",
      summary: "Move money once per transactionId",
      parameters: [inPath("accountId")],
      requestBody: body("TransactionInput"),
      responses: {
        "201": answer("Posted", "Transaction"),
        "200": answer("Posted before", "Transaction"),
        "400": problem("validation"),
        "409": problem("transaction-exists, insufficient-funds or balance-limit"),
        ...bodyProblems,
      },
    },
  },
  "/accounts/{accountId}/balance": {
    put: {
      operationId: "setBalance",
      summary: "Compare and set; a balance that went away and came back looks untouched (A-B-A)",
      parameters: [inPath("accountId")],
      requestBody: body("BalanceInput"),
      responses: {
        "200": answer("Set, or set before", "Account"),
        "400": problem("validation"),
        "409": problem("balance-changed"),
        ...bodyProblems,
      },
    },
  },
};

const preconditions = { "412": problem("precondition-failed"), "428": problem("precondition-required") };

const users = {
  "/users/{userId}": {
    get: {
      operationId: "getUser",
      summary: "A user of your tenant",
      parameters: [inPath("userId"), condition("If-None-Match")],
      responses: {
        "200": answer("The user", "User", etag),
        "304": { description: "Unchanged" },
        ...unauthorized,
        ...notFound,
      },
    },
    put: {
      operationId: "putUser",
      summary: "Create, or replace what you saw",
      parameters: [inPath("userId"), condition("If-Match"), condition("If-None-Match")],
      requestBody: body("UserInput"),
      responses: {
        "201": answer("Created", "User", etag),
        "200": answer("Replaced", "User", etag),
        "400": problem("validation"),
        ...bodyProblems,
        ...preconditions,
      },
    },
    patch: {
      operationId: "patchUser",
      summary: "Change what you saw; with a key, a retry replays instead of 412",
      parameters: [inPath("userId"), condition("If-Match"), key(false)],
      requestBody: body("UserPatch"),
      responses: {
        "200": answer("Changed; the same again for the same key", "User", { ...etag, ...perhapsReplayed }),
        "400": problem("validation or idempotency-key-invalid"),
        ...notFound,
        "409": problem("idempotency-in-flight", perhapsRetryAfter),
        "422": problem("idempotency-key-reused"),
        ...bodyProblems,
        ...preconditions,
      },
    },
    delete: {
      operationId: "deleteUser",
      summary: "Delete what you saw",
      parameters: [inPath("userId"), condition("If-Match")],
      responses: { "204": { description: "Deleted" }, ...unauthorized, ...notFound, ...preconditions },
    },
  },
};

const anything = { type: "object", additionalProperties: true };
const health = object({ status: { type: "string" } });

function publicly(operationId: string, summary: string, ok: object, others: object = {}) {
  return { get: { operationId, summary, security: [], responses: { "200": ok, ...others } } };
}

const open = {
  "/": publicly("getHome", "The playground", other("A page", "text/html")),
  "/plain": publicly("getPlain", "What runs here, its counts, and commands to try", other("A page", "text/html")),
  "/healthz": publicly("getHealth", "The process runs", other("It does", "application/json", health)),
  "/readyz": publicly("getReadiness", "Keys can be claimed", other("Ready", "application/json", anything), {
    "503": other("Not ready", "application/json", anything),
  }),
  "/metrics": publicly("getMetrics", "Prometheus text", other("Metrics", "text/plain")),
  "/openapi.json": publicly("getDescription", "This document", other("It", "application/json", anything)),
  "/.well-known/idempotency": publicly(
    "getIdempotencyPolicy",
    "The idempotency policy",
    other("The policy", "application/json", anything),
  ),
};

type Paths = Readonly<Record<string, Readonly<Record<string, object>>>>;

function tagged<P extends Paths>(tag: string, paths: P): P {
  return Object.fromEntries(
    Object.entries(paths).map(([path, operations]) => [
      path,
      Object.fromEntries(
        Object.entries(operations).map(([method, operation]) => [method, { tags: [tag], ...operation }]),
      ),
    ]),
  ) as P;
}

export const openapi = {
  openapi: "3.1.0",
  info: {
    title: "ichido shop",
    version: "0.1.0",
    description: "A shop that takes effect once, however often it is asked. Policy: /.well-known/idempotency",
    license: { name: "MIT", identifier: "MIT" },
  },
  servers: [{ url: "/", description: "Wherever this document was read" }],
  tags: [
    { name: "payments", description: "Money that moves through the bank" },
    { name: "orders", description: "Orders, their payment, and what follows from it" },
    { name: "accounts", description: "Balances, by transaction id and by compare-and-set" },
    { name: "users", description: "Documents with versions" },
    { name: "service", description: "The service itself; no token is needed" },
  ],
  security: [{ bearer: [] }],
  paths: {
    ...tagged("payments", payments),
    ...tagged("orders", orders),
    ...tagged("accounts", accounts),
    ...tagged("users", users),
    ...tagged("service", open),
  },
  components: { securitySchemes: { bearer: { type: "http", scheme: "bearer" } }, schemas },
} as const;
