import type { Decider } from "../../core/options.ts";
import { IdempotencyInterceptor, type NestIdempotencyOptions } from "./interceptor.ts";
import type { DynamicModuleLike } from "./shapes.ts";

/** Nest's token of interceptors that are made by a module and serve the whole application. */
const interceptorToken = "APP_INTERCEPTOR";
const optionsToken = Symbol.for("ichido.nest.module-options");

/** Injects the engine: `constructor(@Inject(engineToken) private readonly ichido: Ichido) {}`. */
export const engineToken: unique symbol = Symbol.for("ichido.nest.engine") as never;

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
  static forRoot<Request>(options: Given<Request>): DynamicModuleLike {
    return IdempotencyModule.forRootAsync<Request>({ useFactory: () => options });
  }

  static forRootAsync<Request>({
    imports,
    inject,
    useFactory,
  }: NestIdempotencyAsyncOptions<Request>): DynamicModuleLike {
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
