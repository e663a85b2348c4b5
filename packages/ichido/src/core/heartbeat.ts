/** Keeps the leases of all live claims of this process, in one store call per beat. */
import { limits } from "./defaults.ts";
import type { Environment, Timer } from "./environment.ts";
import type { RenewRequest } from "./store.ts";
import type { StoreCalls } from "./store-calls.ts";

export type LossReason = "stale" | "unreachable" | "execution-limit";

export interface LiveClaim {
  readonly renewal: RenewRequest;
  /** When the store last confirmed the lease: the moment the request was sent, the latest that is surely safe. */
  confirmedMs: number;
  readonly startedMs: number;
  /** The lease can no longer be counted on. Called at most once. */
  lose(reason: LossReason): void;
  lost: boolean;
}

/** A claimant stops trusting its lease at this share of it, so that it stops before its successor can start. */
const trustedShare = 0.8;

export interface Heartbeat {
  add(claim: LiveClaim): void;
  remove(claim: LiveClaim): void;
  readonly size: number;
  stop(): void;
}

export function createHeartbeat(parts: {
  readonly calls: Pick<StoreCalls, "renew">;
  readonly environment: Environment;
  readonly executionMs: number;
}): Heartbeat {
  const { calls, environment } = parts;
  const live = new Set<LiveClaim>();
  let timer: Timer | undefined;
  let armedForMs = Number.POSITIVE_INFINITY;
  let beating = false;
  let stopped = false;

  function lose(claim: LiveClaim, reason: LossReason): void {
    if (claim.lost) return;
    claim.lost = true;
    claim.lose(reason);
  }

  async function renewBatch(batch: readonly LiveClaim[], timeoutMs: number): Promise<void> {
    const sentMs = environment.monotonicMs();
    try {
      const answers = await calls.renew(
        batch.map((claim) => claim.renewal),
        timeoutMs,
      );
      batch.forEach((claim, index) => {
        if (answers[index] === "ok") claim.confirmedMs = sentMs;
        else if (live.delete(claim)) lose(claim, "stale");
      });
    } catch {
      // The next beat tries again; until then each claim judges its own lease by the monotonic clock.
    }
    const nowMs = environment.monotonicMs();
    for (const claim of batch) {
      if (nowMs - claim.confirmedMs >= claim.renewal.leaseMs * trustedShare) lose(claim, "unreachable");
    }
  }

  async function beat(): Promise<void> {
    beating = true;
    const nowMs = environment.monotonicMs();
    for (const claim of live) {
      if (nowMs - claim.startedMs >= parts.executionMs) {
        live.delete(claim);
        lose(claim, "execution-limit");
      }
    }
    const all = [...live];
    const timeoutMs = intervalMs();
    const batches: Promise<void>[] = [];
    for (let start = 0; start < all.length; start += limits.renewBatchMax) {
      batches.push(renewBatch(all.slice(start, start + limits.renewBatchMax), timeoutMs));
    }
    await Promise.all(batches);
    beating = false;
    arm(environment.monotonicMs() - nowMs);
  }

  function intervalMs(): number {
    let shortest: number = limits.leaseMsMax;
    for (const claim of live) shortest = Math.min(shortest, claim.renewal.leaseMs);
    return shortest / 3;
  }

  function arm(elapsedMs: number): void {
    if (stopped || beating || live.size === 0) return;
    const delayMs = Math.max(1, intervalMs() - elapsedMs);
    const dueMs = environment.monotonicMs() + delayMs;
    if (timer !== undefined && dueMs >= armedForMs) return;
    timer?.cancel();
    armedForMs = dueMs;
    timer = environment.after(delayMs, () => {
      timer = undefined;
      armedForMs = Number.POSITIVE_INFINITY;
      void beat();
    });
  }

  return {
    add(claim) {
      live.add(claim);
      arm(0);
    },
    remove(claim) {
      live.delete(claim);
    },
    get size() {
      return live.size;
    },
    stop() {
      stopped = true;
      timer?.cancel();
    },
  };
}
