/** What the adapter needs from NestJS, by shape: nothing of it is imported. */
import type { ServerResponse } from "node:http";
import type { Context } from "../../core/contract/context.ts";
import type { NodeRequest } from "../../http/node-request.ts";

export interface ExecutionContextLike {
  getType(): string;
  // oxlint-disable-next-line typescript/no-unsafe-function-type -- so Nest gives it
  getHandler(): Function;
  // oxlint-disable-next-line typescript/no-unsafe-function-type -- so Nest gives it
  getClass(): Function;
  switchToHttp(): { getRequest(): unknown; getResponse(): unknown };
}

export interface SubscriberLike {
  next(value: unknown): void;
  error(error: unknown): void;
  complete(): void;
}

export interface ObservableLike {
  subscribe(observer: SubscriberLike): { unsubscribe(): void };
}

export interface CallHandlerLike {
  handle(): ObservableLike;
}

/** Express's request, or Fastify's around Node's. */
export type NestRequest = (NodeRequest & { readonly raw?: undefined }) | FastifyRequestShape;
export type RequestExtras = { idempotency?: Context; readonly rawBody?: unknown; readonly body?: unknown };

export interface FastifyRequestShape {
  readonly raw: NodeRequest;
}

/** An application of `NestFactory.create`. */
export interface NestApplicationLike {
  use(middleware: (request: NodeRequest, response: ServerResponse, next: () => void) => void): unknown;
  getHttpAdapter(): { getType(): string; getInstance(): unknown };
}

/** A dynamic module, as Nest reads it. */
export interface DynamicModuleLike {
  readonly module: new () => object;
  readonly global: boolean;
  /** `never`: fits whatever types the application's version of Nest has for these. */
  readonly imports: never[];
  readonly providers: never[];
  readonly exports: never[];
}

interface Metadata {
  defineMetadata(this: void, key: unknown, value: unknown, target: object, property?: string | symbol): void;
  getMetadataKeys(this: void, target: object): unknown[];
  getMetadata(this: void, key: unknown, target: object, property?: string | symbol): unknown;
}

/** `reflect-metadata`, which Nest loads before any class of the application is declared. */
export function metadata(): Metadata {
  return Reflect as unknown as Metadata;
}
