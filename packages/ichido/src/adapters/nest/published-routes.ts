/**
 * The protected routes of an application, as Nest registers them: with global prefix, versions and paths of modules.
 * Nest copies the metadata of a handler to the function that it registers, so that the handler can be found from there.
 */
import type { RouteOptions } from "../../core/contract/options.ts";
import { resolveRoute } from "../../core/engine/validate-options.ts";
import type { PublishedRoute } from "../../policy/described-route.ts";
import { handlerOf, routeOptionsOf } from "./decorators.ts";

type Register = (...args: unknown[]) => unknown;

interface AdapterLike {
  getType(): string;
}

const registering = [
  "post",
  "patch",
  "put",
  "delete",
  "all",
  "propfind",
  "proppatch",
  "mkcol",
  "copy",
  "move",
  "lock",
  "unlock",
];

const published = new WeakMap<object, PublishedRoute<never>[]>();

/** Nest registers `all` once for every method; only protected methods count. */
function routesOf(method: string, path: string, options: RouteOptions<never>): readonly PublishedRoute<never>[] {
  const { methods } = resolveRoute<never>({ onUnknown: "hold", statusUrl: () => "/" }, options);
  const served = method === "ALL" ? [...methods] : [method].filter((each) => methods.has(each));
  return served.map((each) => ({ method: each, path, options }));
}

/** Call it before Nest registers its routes. */
export function watchRoutes(adapter: AdapterLike): void {
  if (published.has(adapter)) return;
  const routes: PublishedRoute<never>[] = [];
  published.set(adapter, routes);
  const methods = adapter as unknown as Record<string, Register | undefined>;
  for (const name of registering) {
    const register = methods[name];
    if (register === undefined) continue;
    methods[name] = (...args) => {
      const [path, handler] = [args[0], args.at(-1)];
      const found = typeof path === "string" && typeof handler === "function" ? handlerOf(handler) : undefined;
      const options = found && routeOptionsOf({ getHandler: () => found.handler, getClass: () => found.controller });
      if (options !== undefined) routes.push(...routesOf(name.toUpperCase(), path as string, options));
      return register.apply(adapter, args);
    };
  }
}

/**
 * For `policyOf` and `openApiFragment` of `ichido/policy`: every route that `@Idempotent()` protects. Nest registers
 * routes in `app.init()` or `app.listen()`; before that there are none.
 */
export function publishedRoutes<Request>(app: { getHttpAdapter(): AdapterLike }): readonly PublishedRoute<Request>[] {
  return [...(published.get(app.getHttpAdapter()) ?? [])] as unknown as PublishedRoute<Request>[];
}
