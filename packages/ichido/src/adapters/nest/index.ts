/**
 * NestJS 11 and 12 on Express and on Fastify. `IdempotencyModule.forRoot({ ichido })` in the root module,
 * `@Idempotent()` on handlers or controllers; a handler gets its context by `@Idempotency()`.
 */
export type { BodyOptions } from "../../http/body-limits.ts";
export type { WireOptions } from "../../http/node-guard.ts";
export { captureBody } from "./capture-body.ts";
export { Idempotency, Idempotent } from "./decorators.ts";
export { IdempotencyInterceptor, type NestIdempotencyOptions } from "./interceptor.ts";
export { engineToken, IdempotencyModule, type NestIdempotencyAsyncOptions } from "./module.ts";
export { publishedRoutes } from "./published-routes.ts";
export type {
  CallHandlerLike,
  DynamicModuleLike,
  ExecutionContextLike,
  NestApplicationLike,
  ObservableLike,
  SubscriberLike,
} from "./shapes.ts";
