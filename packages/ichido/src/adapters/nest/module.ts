import { knownOptions } from "../../core/contract/option-checks.ts";
import type { Decider } from "../../core/contract/options.ts";
import type { DescribedEngine } from "../../policy/described-route.ts";
import { policyOf, policyPath } from "../../policy/policy.ts";
import { IdempotencyInterceptor, type NestIdempotencyOptions } from "./interceptor.ts";
import { addSendHook, type HookedInstance } from "../fastify-reply.ts";
import { publishedRoutes, watchRoutes } from "./published-routes.ts";
import { metadata, type DynamicModuleLike, type NestApplicationLike } from "./shapes.ts";

/** Nest's token for interceptors that a module makes and that serve the whole application. */
const interceptorToken = "APP_INTERCEPTOR";
const optionsToken = Symbol.for("ichido.nest.module-options");

/** Injects the engine: `constructor(@Inject(engineToken) private readonly ichido: Ichido) {}`. */
export const engineToken: unique symbol = Symbol.for("ichido.nest.engine") as never;

/** The metadata key under which Nest finds what a constructor wants injected. */
const wantedKey = "self:paramtypes";

type NestAdapter = ReturnType<NestApplicationLike["getHttpAdapter"]> & {
  get(path: string, handler: (request: unknown, response: unknown) => unknown): unknown;
  reply(response: unknown, body: unknown, status: number): unknown;
};

type Given<Request> = NestIdempotencyOptions<Request> | Decider<Request>;

export interface NestIdempotencyAsyncOptions<Request> {
  readonly imports?: readonly unknown[];
  readonly inject?: readonly unknown[];
  readonly useFactory: (...injected: never[]) => Given<Request> | Promise<Given<Request>>;
}

function optionsOf(given: Given<never>): NestIdempotencyOptions<never> {
  return "ichido" in given ? given : { ichido: given };
}

/** Once, in the root module. Protects handlers that are marked with `@Idempotent()`. */
export class IdempotencyModule {
  readonly #options: NestIdempotencyOptions<never> | undefined;
  #adapter: NestAdapter | undefined;
  #policy: unknown;

  constructor(options?: NestIdempotencyOptions<never>) {
    this.#options = options;
  }

  /** Nest calls it before it makes the routes, and the middleware builder is how a module gets at the HTTP server. */
  configure(builder: { getHttpAdapter?(): ReturnType<NestApplicationLike["getHttpAdapter"]> }): void {
    const adapter = builder.getHttpAdapter?.() as NestAdapter | undefined;
    if (adapter === undefined) return;
    this.#adapter = adapter;
    if (adapter.getType() === "fastify") addSendHook(adapter.getInstance() as HookedInstance);
    watchRoutes(adapter);
    if (this.#isPublished) adapter.get(policyPath, (_, response) => adapter.reply(response, this.#policy, 200));
  }

  /** The routes exist by now. A policy that cannot be published stops the start. */
  onApplicationBootstrap(): void {
    const [options, adapter] = [this.#options, this.#adapter];
    if (options === undefined || adapter === undefined || !this.#isPublished) return;
    const engine = options.ichido as unknown as DescribedEngine<never>;
    const named = typeof options.policy === "object" ? options.policy : {};
    this.#policy = policyOf(engine, publishedRoutes({ getHttpAdapter: () => adapter }), named);
  }

  get #isPublished(): boolean {
    return (this.#options?.policy ?? false) !== false;
  }

  static forRoot<Request>(options: Given<Request>): DynamicModuleLike {
    return IdempotencyModule.forRootAsync<Request>({ useFactory: () => options });
  }

  static forRootAsync<Request>(options: NestIdempotencyAsyncOptions<Request>): DynamicModuleLike {
    knownOptions("IdempotencyModule.forRootAsync", options, { imports: true, inject: true, useFactory: true });
    const { imports, inject, useFactory } = options;
    metadata().defineMetadata(wantedKey, [{ index: 0, param: optionsToken }], IdempotencyModule);
    const make = async (...injected: unknown[]): Promise<NestIdempotencyOptions<never>> =>
      optionsOf((await useFactory(...(injected as never[]))) as Given<never>);
    return {
      module: IdempotencyModule,
      global: true,
      imports: [...(imports ?? [])] as never[],
      providers: [
        { provide: optionsToken, inject: [...(inject ?? [])], useFactory: make },
        {
          provide: engineToken,
          inject: [optionsToken],
          useFactory: ({ ichido }: NestIdempotencyOptions<never>) => ichido,
        },
        {
          provide: interceptorToken,
          inject: [optionsToken],
          useFactory: (options: NestIdempotencyOptions<never>) => new IdempotencyInterceptor(options),
        },
      ] as never[],
      exports: [engineToken] as never[],
    };
  }
}
