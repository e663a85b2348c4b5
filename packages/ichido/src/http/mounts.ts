/**
 * Which operations a request is under the claim of. The inner of two mounts of one operation would meet the claim of the
 * outer one and answer "in flight" to itself, and the outer one would take that for the handler's answer.
 */
import type { Execution } from "../core/contract/decision.ts";
import { IchidoError } from "../core/contract/errors.ts";

const claims = new WeakMap<object, Map<string, Execution>>();

/** Refuses before anything more is claimed, and has the outer claim given back: the handler was not reached. */
export function checkMountedOnce(request: object, operation: string): void {
  const outer = claims.get(request)?.get(operation);
  if (outer === undefined) return;
  outer.context.release();
  throw new IchidoError(
    "usage-invalid",
    `operation ${JSON.stringify(operation)} is mounted twice on the way to one handler. Mount it once.`,
  );
}

export function noteClaim(request: object, operation: string, execution: Execution): void {
  const operations = claims.get(request) ?? new Map<string, Execution>();
  claims.set(request, operations.set(operation, execution));
}

/** For requests that may be handed in again, as tests do. */
export function forgetClaim(request: object, operation: string): void {
  claims.get(request)?.delete(operation);
}
