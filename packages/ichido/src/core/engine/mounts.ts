/** Mounts that are mistakes: routes that protect nothing of what is behind them, and those that one request passes twice. */
import type { Execution } from "../contract/decision.ts";
import { IchidoError } from "../contract/errors.ts";
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

/** Tells, once each, of routes that were put before a handler and protect nothing of it. */
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

/**
 * Which operations a request is under the claim of: noted on the request itself, the newest first. The inner of two
 * mounts of one operation would meet the claim of the outer one and answer "in flight" to itself, and the outer one
 * would take that for the handler's answer.
 */
const claims = Symbol("ichido.claims");

interface NotedClaim {
  readonly operation: string;
  readonly outer: NotedClaim | undefined;
  /** Undefined once it is forgotten. */
  execution: Execution | undefined;
}

type ClaimedRequest = object & { [claims]?: NotedClaim | undefined };

function notedClaim(request: ClaimedRequest, operation: string): NotedClaim | undefined {
  let noted = request[claims];
  while (noted !== undefined && (noted.operation !== operation || noted.execution === undefined)) noted = noted.outer;
  return noted;
}

/** Refuses before anything more is claimed, and has the outer claim given back: the handler was not reached. */
export function checkMountedOnce(request: ClaimedRequest, operation: string): void {
  const outer = notedClaim(request, operation)?.execution;
  if (outer === undefined) return;
  outer.context.release();
  throw new IchidoError(
    "usage-invalid",
    `operation ${JSON.stringify(operation)} is mounted twice on the way to one handler. Mount it once.`,
  );
}

export function noteClaim(request: ClaimedRequest, operation: string, execution: Execution): void {
  // A frozen request takes no note; then a second mount is not told from a retry, and nothing else is lost.
  if (Object.isExtensible(request)) request[claims] = { operation, execution, outer: request[claims] };
}

/** For requests that may be handed in again, as tests do. */
export function forgetClaim(request: ClaimedRequest, operation: string): void {
  const noted = notedClaim(request, operation);
  if (noted !== undefined) noted.execution = undefined;
}
