/** `/openapi.json`: what exists, for people and generators. */
import { problems } from "./problems.ts";

const uuid = { type: "string", format: "uuid" } as const;
const json = (schema: string) => ({ "application/json": { schema: { $ref: `#/components/schemas/${schema}` } } });
const problem = (description: string, headers?: object) => ({
  description,
  ...(headers === undefined ? {} : { headers }),
  content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
});
const retryAfter = { "Retry-After": { description: "seconds", schema: { type: "integer", minimum: 1 } } };
const plain = (description: string) => ({ responses: { "200": { description } } });

export const openapi = {
  openapi: "3.1.0",
  info: {
    title: "ichido shop",
    version: "0.1.0",
    description: "A payment service that charges once, however often it is asked. Policy: /.well-known/idempotency",
  },
  security: [{ bearer: [] }],
  paths: {
    "/payments": {
      post: {
        operationId: "createPayment",
        summary: "Pay for a booking",
        parameters: [
          {
            name: "Idempotency-Key",
            in: "header",
            required: true,
            description: "UUID v4 made by the client, one per intent to pay; kept over retries.",
            schema: uuid,
          },
        ],
        requestBody: { required: true, content: json("PaymentInput") },
        responses: {
          "201": {
            description: "Charged",
            headers: { Location: { schema: { type: "string" } } },
            content: json("Payment"),
          },
          "200": {
            description: "The stored answer of the first request with this key and content",
            headers: {
              Location: { schema: { type: "string" } },
              "Idempotency-Replayed": { schema: { const: "true" } },
            },
            content: json("Payment"),
          },
          "400": problem("validation, idempotency-key-required or idempotency-key-invalid"),
          "401": problem("unauthorized"),
          "402": problem("card-declined; stored, and replayed as 402"),
          "409": problem("idempotency-key-reused, idempotency-in-flight or outcome-unknown", retryAfter),
          "413": problem("request-too-large"),
          "415": problem("unsupported-media-type"),
          "503": problem("gateway-unavailable or store-unavailable: nothing was charged", retryAfter),
          "504": problem("gateway-timeout: the retry learns what became of the charge", retryAfter),
        },
      },
    },
    "/payments/{paymentId}": {
      get: {
        operationId: "getPayment",
        summary: "A payment of your tenant",
        parameters: [
          { name: "paymentId", in: "path", required: true, schema: uuid },
          { name: "If-None-Match", in: "header", required: false, schema: { type: "string" } },
        ],
        responses: {
          "200": {
            description: "The payment",
            headers: { ETag: { schema: { type: "string" } } },
            content: json("Payment"),
          },
          "304": { description: "Unchanged" },
          "401": problem("unauthorized"),
          "404": problem("not-found"),
        },
      },
    },
    "/healthz": { get: { security: [], summary: "The process runs", ...plain("It does") } },
    "/readyz": {
      get: {
        security: [],
        summary: "Keys can be claimed",
        responses: { "200": { description: "Ready" }, "503": { description: "Not ready" } },
      },
    },
    "/metrics": { get: { security: [], summary: "Prometheus text", ...plain("Metrics") } },
    "/.well-known/idempotency": { get: { security: [], summary: "The idempotency policy", ...plain("The policy") } },
  },
  components: {
    securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
    schemas: {
      PaymentInput: {
        type: "object",
        required: ["bookingId", "amount", "currency"],
        properties: {
          bookingId: { type: "string", minLength: 1, maxLength: 64 },
          amount: { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: "minor units" },
          currency: { type: "string", pattern: "^[A-Z]{3}$", description: "ISO 4217" },
        },
      },
      Payment: {
        type: "object",
        required: ["paymentId", "bookingId", "amount", "currency", "status", "createdAt"],
        properties: {
          paymentId: uuid,
          bookingId: { type: "string" },
          amount: { type: "integer" },
          currency: { type: "string" },
          status: { enum: ["requested", "unknown", "captured", "declined", "refunded"] },
          createdAt: { type: "string", format: "date-time" },
        },
      },
      Problem: {
        type: "object",
        required: ["type", "title", "status", "code"],
        properties: {
          type: { type: "string", format: "uri" },
          title: { type: "string" },
          status: { type: "integer" },
          detail: { type: "string" },
          code: {
            type: "string",
            description: `of the shop: ${Object.keys(problems).join(", ")}; of the keys: see the policy`,
          },
          retryable: { type: "boolean" },
        },
      },
    },
  },
} as const;
