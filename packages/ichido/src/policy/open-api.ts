/** The same promises as a part of an OpenAPI 3.1 document. */
import {
  describeRoute,
  type DescribedEngine,
  type ErrorDescription,
  type OperationDescription,
  type PolicyOptions,
  type PublishedRoute,
} from "./described-route.ts";

export interface OpenApiResponse {
  readonly description: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, unknown>>;
}

export interface OpenApiOperation {
  readonly parameters: readonly Readonly<Record<string, unknown>>[];
  /** By status, or by class (`2XX`) for the operation's own answers, which are not known here. */
  readonly responses: Readonly<Record<string, OpenApiResponse>>;
  readonly "x-idempotency": Readonly<Record<string, unknown>>;
}

export interface OpenApiFragment {
  readonly openapi: "3.1.0";
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: {
    readonly headers: Readonly<Record<string, unknown>>;
    readonly schemas: Readonly<Record<string, unknown>>;
  };
}

const retryAfter = { $ref: "#/components/headers/RetryAfter" };
const uuidPattern = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$";

function parameterOf({ header, required, key, retention }: OperationDescription): Readonly<Record<string, unknown>> {
  const quoted = key.form === "strict" ? " Sent in double quotes (RFC 9651)." : "";
  // The quotes of the strict form are a part of the field's value, and so of its length.
  const quotes = key.form === "strict" ? 2 : 0;
  const bounds = { minLength: key.length.min + quotes, maxLength: key.length.max + (key.form === "bare" ? 0 : 2) };
  return {
    name: header,
    in: "header",
    required,
    description:
      `One key for each intent, kept over retries and remembered for ${retention.duration} from the first request.` +
      quoted,
    schema: {
      type: "string",
      ...(key.format === "uuid-v4" ? { pattern: uuidPattern.replace("^", '^"?').replace("$", '"?$') } : bounds),
    },
  };
}

function problemResponse(errors: readonly ErrorDescription[]): OpenApiResponse {
  return {
    description: errors.map(({ code, title }) => `${code}: ${title}`).join("; "),
    ...(errors.some(({ retryable }) => retryable) ? { headers: { "Retry-After": retryAfter } } : {}),
    content: { "application/problem+json": { schema: { $ref: "#/components/schemas/IdempotencyProblem" } } },
  };
}

function responsesOf(operation: OperationDescription): Readonly<Record<string, OpenApiResponse>> {
  const responses: Record<string, OpenApiResponse> = {
    "2XX": {
      description: `The operation's own answer; ${operation.marker.header} tells a replay of it`,
      headers: { [operation.marker.header]: { $ref: `#/components/headers/${markerComponent(operation)}` } },
    },
  };
  if (operation.inFlight === "accepted") {
    responses["202"] = {
      description: "A request with this key is still running, or its outcome is not known yet",
      headers: { "Retry-After": retryAfter, Location: { schema: { type: "string", format: "uri-reference" } } },
    };
  }
  for (const status of new Set(operation.errors.map((error) => error.status))) {
    responses[String(status)] = problemResponse(operation.errors.filter((error) => error.status === status));
  }
  return responses;
}

function markerComponent({ marker }: OperationDescription): string {
  return marker.header.replaceAll("-", "");
}

function operationOf(operation: OperationDescription): OpenApiOperation {
  const { required, profile, retention, storedStatuses, compared, scope, marker, inFlight } = operation;
  return {
    parameters: [parameterOf(operation)],
    responses: responsesOf(operation),
    "x-idempotency": {
      operation: operation.operation,
      required,
      profile,
      retention: retention.duration,
      replays: storedStatuses.stored,
      createdReplayedAs: storedStatuses.createdReplayedAs,
      compared,
      scope,
      inFlight,
      marker,
    },
  };
}

export function openApiFragment<Native>(
  ichido: DescribedEngine<Native>,
  routes: readonly PublishedRoute<Native>[],
  options: PolicyOptions = {},
): OpenApiFragment {
  const operations = routes.map((route) => describeRoute(ichido, route, options));
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  for (const operation of operations) {
    paths[operation.path] = { ...paths[operation.path], [operation.method.toLowerCase()]: operationOf(operation) };
  }
  const markers = operations.map((operation) => [
    markerComponent(operation),
    { description: "Present on a replay of an earlier answer", schema: { const: operation.marker.value } },
  ]);
  return {
    openapi: "3.1.0",
    paths,
    components: {
      headers: {
        ...(Object.fromEntries(markers) as Record<string, unknown>),
        RetryAfter: { description: "Seconds to wait", schema: { type: "integer", minimum: 1 } },
      },
      schemas: {
        IdempotencyProblem: {
          type: "object",
          required: ["type", "title", "status", "code", "retryable"],
          properties: {
            type: { type: "string", format: "uri" },
            title: { type: "string" },
            status: { type: "integer" },
            detail: { type: "string" },
            code: { enum: [...new Set(operations.flatMap(({ errors }) => errors.map(({ code }) => code)))] },
            retryable: { type: "boolean" },
            retryAfter: { type: "integer" },
            originalStatus: { type: "integer" },
            location: { type: "string" },
          },
        },
      },
    },
  };
}
