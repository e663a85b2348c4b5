/** The recurring parts of the OpenAPI document. */

export const uuid = { type: "string", format: "uuid" } as const;
export const amount = {
  type: "integer",
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: "minor units",
} as const;
export const dateTime = { type: "string", format: "date-time" } as const;
const text = { type: "string" } as const;

const seconds = { description: "seconds", schema: { type: "integer", minimum: 1 } } as const;
export const retryAfter = { "Retry-After": { required: true, ...seconds } };
export const perhapsRetryAfter = { "Retry-After": { required: false, ...seconds } };
export const location = { Location: { required: true, schema: { type: "string", format: "uri-reference" } } };
export const etag = { ETag: { required: true, schema: { type: "string", pattern: '^"' } } };
export const replayed = { "Idempotency-Replayed": { required: true, schema: { const: "true" } } };
/** Where the stored answer has the status of the first one. */
export const perhapsReplayed = { "Idempotency-Replayed": { required: false, schema: { const: "true" } } };

export function json(schema: string) {
  return { "application/json": { schema: { $ref: `#/components/schemas/${schema}` } } };
}

export function answer(description: string, schema: string, headers: object = {}) {
  return { description, headers, content: json(schema) };
}

export function other(description: string, mediaType: string, schema: object = text) {
  return { description, content: { [mediaType]: { schema } } };
}

export function problem(description: string, headers: object = {}) {
  return {
    description,
    headers,
    content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
  };
}

/** Every operation with a token. */
export const unauthorized = { "401": problem("unauthorized") };
/** Every operation that takes a body. */
export const bodyProblems = {
  ...unauthorized,
  "413": problem("request-too-large"),
  "415": problem("unsupported-media-type"),
};

export function key(required: boolean, schema: object = { type: "string", minLength: 1, maxLength: 255 }) {
  const description = "Made by the client, one per intent; kept over retries.";
  return { name: "Idempotency-Key", in: "header", required, description, schema };
}

export function inPath(name: string, schema: object = { type: "string", minLength: 1, maxLength: 64 }) {
  return { name, in: "path", required: true, schema };
}

export function inQuery(name: string, schema: object = { type: "string", minLength: 1, maxLength: 64 }) {
  return { name, in: "query", required: true, schema };
}

export function condition(name: "If-Match" | "If-None-Match") {
  return { name, in: "header", required: false, schema: text };
}

export function body(schema: string) {
  return { required: true, content: json(schema) };
}

export function object(properties: Readonly<Record<string, object>>, required = Object.keys(properties)) {
  return { type: "object", required, properties };
}
