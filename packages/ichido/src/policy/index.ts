/** ichido/policy: what an API promises about its keys, published from the same options that enforce it. */
export { policyOf, policyPath, type Policy } from "./policy.ts";
export { openApiFragment, type OpenApiFragment, type OpenApiOperation, type OpenApiResponse } from "./open-api.ts";
export { mergeOpenApi } from "./merge-open-api.ts";
export { isoDuration } from "./duration.ts";
export type {
  DescribedEngine,
  ErrorDescription,
  KeyDescription,
  OperationDescription,
  PolicyOptions,
  PublishedRoute,
  RetentionDescription,
  StatusesDescription,
} from "./described-route.ts";
