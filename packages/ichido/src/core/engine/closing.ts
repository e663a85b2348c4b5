/** The end of an engine: said beforehand, waited for, and what it had to leave. */
import { withDeadline } from "../contract/deadline.ts";
import type { EngineLeft } from "./drain.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { LeaseAttempt } from "./lease-attempt.ts";
import { keyHashOf } from "../request/scope.ts";
import type { CloseBounds } from "./running.ts";
import type { TransactionMode } from "./transaction-mode.ts";

export interface Closing {
  /** The first call decides how long it may take. */
  close(bounds: CloseBounds): Promise<EngineLeft>;
  leftNow(): EngineLeft;
  announce(): void;
  readonly isAnnounced: boolean;
}

export function createClosing(
  { running, calls, attemptLog, settings: { environment } }: EngineParts,
  transactionMode: TransactionMode | undefined,
  stops: readonly { stop(): void }[],
): Closing {
  let closing: Promise<EngineLeft> | undefined;
  let isAnnounced = false;
  /** Ended as far as the store is told, while their handlers still run. */
  let handedOver: readonly LeaseAttempt[] = [];

  function leftOf(unfinished: readonly LeaseAttempt[]): EngineLeft {
    const nowMs = environment.monotonicMs();
    const handlers = unfinished.map(({ ask: { identity }, grant, startedMs }) => ({
      operation: identity.operation,
      keyHash: keyHashOf(identity),
      attempt: grant.attempt,
      runningMs: Math.round(nowMs - startedMs),
    }));
    return { handlers, transactions: transactionMode?.running ?? 0 };
  }

  async function close(bounds: CloseBounds): Promise<EngineLeft> {
    const left = await running.close({
      idle: async () => transactionMode?.idle(),
      lookForLost: () => calls.lookForAllLost(),
      bounds,
    });
    handedOver = left;
    const { handOverMs } = bounds;
    if (attemptLog !== undefined)
      await withDeadline(environment, handOverMs, () => attemptLog.stop()).catch(() => undefined);
    for (const each of stops) each.stop();
    return leftOf(left);
  }

  return {
    close(bounds) {
      closing ??= close(bounds);
      return closing;
    },
    leftNow: () => leftOf([...handedOver, ...running.started()]),
    announce() {
      isAnnounced = true;
    },
    get isAnnounced() {
      return isAnnounced;
    },
  };
}
