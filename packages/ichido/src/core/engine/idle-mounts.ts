/** Tells, once each, of routes that were put before a handler and protect nothing of it. */
import type { IchidoListener } from "../contract/events.ts";
import type { ResolvedRoute } from "../contract/options.ts";

type Route = Pick<ResolvedRoute<never>, "operation" | "methods">;

const safeMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "QUERY"]);

export interface IdleMounts {
  /** Where a framework tells for which methods the route was mounted. */
  mounted(route: Route, methods: readonly string[]): void;
  /** A request that the route does not protect. Safe ones pass every mount that serves a whole router. */
  passed(route: Route, method: string): void;
  /** The route does protect something, so that what passes it may be meant to. */
  guarded(route: Route): void;
}

export function createIdleMounts(emit: IchidoListener): IdleMounts {
  /** Nothing more is to be said of them. */
  const known = new WeakSet<Route>();

  function tell(route: Route, methods: string): void {
    known.add(route);
    const protectedOnes = [...route.methods].join(", ");
    emit({
      type: "warning",
      code: "protects-nothing",
      message:
        `${route.operation}: idempotency is mounted for ${methods}, which it leaves unprotected: it protects ${protectedOnes}. ` +
        "Name the methods in the route's option methods, or mount it elsewhere",
    });
  }

  return {
    mounted(route, methods) {
      if (!known.has(route) && !methods.some((method) => route.methods.has(method))) tell(route, methods.join(", "));
    },
    passed(route, method) {
      if (!safeMethods.has(method) && !known.has(route)) tell(route, method);
    },
    guarded(route) {
      known.add(route);
    },
  };
}
