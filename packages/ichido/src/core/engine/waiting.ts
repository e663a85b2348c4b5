/**
 * Duplicates that wait for a running request instead of being refused. All waiters of one key in this process share one
 * watcher; no connection is held while they wait; every wait ends at its own deadline.
 */
import { around } from "../contract/jitter.ts";
import { limits } from "../contract/defaults.ts";
import { sleep, withDeadline } from "../contract/deadline.ts";
import type { Environment } from "../contract/environment.ts";
import type { Identity } from "../contract/record.ts";
import type { ClaimResult, Store } from "../contract/store.ts";

const pollMsFirst = 20;
const pollMsMax = 500;

/** What is told where the store cannot be asked again. */
export const stillProcessing: ClaimResult = { outcome: "processing", leaseLeftMs: 1_000, attempts: 1 };

export interface WaitRequest {
  /** One string per identity. */
  readonly id: string;
  readonly identity: Identity;
  readonly waitMs: number;
  /** Claims for the one waiter that asks; others get to see its answer. */
  readonly claim: () => Promise<ClaimResult>;
  /** The execution of the same key in this process, if any. */
  readonly local: () => Promise<void> | undefined;
}

export interface Waiting {
  /** The last answer of the store, `processing` when the time was up, or `crowded` when too many wait already. */
  wait(request: WaitRequest): Promise<ClaimResult | "crowded">;
  readonly size: number;
}

interface Group {
  waiters: number;
  /** The question under way, shared by all who wait. */
  asking: Promise<ClaimResult> | undefined;
  pollMs: number;
}

export function createWaiting(parts: {
  readonly environment: Environment;
  readonly store: Store;
  readonly waitersMax: number;
  /** Nobody waits any longer. */
  readonly isOver: () => boolean;
}): Waiting {
  const { environment, store } = parts;
  const groups = new Map<string, Group>();
  let size = 0;

  async function ask(group: Group, request: WaitRequest): Promise<ClaimResult> {
    const pauseMs = around(environment, group.pollMs);
    group.pollMs = Math.min(group.pollMs * 2, pollMsMax);
    const local = request.local();
    if (local !== undefined) await withDeadline(environment, pollMsMax, () => local).catch(() => undefined);
    else if (store.watch !== undefined)
      await store.watch(request.identity, pauseMs).catch(() => sleep(environment, pauseMs));
    else await sleep(environment, pauseMs);
    return request.claim();
  }

  async function untilAnswered(group: Group, request: WaitRequest): Promise<ClaimResult> {
    const endMs = environment.monotonicMs() + request.waitMs;
    for (;;) {
      const mine = group.asking === undefined;
      group.asking ??= ask(group, request).finally(() => {
        group.asking = undefined;
      });
      const asking = group.asking;
      const leftMs = endMs - environment.monotonicMs();
      // Whoever asks must take the answer: it may be a grant.
      const answer = mine
        ? await asking
        : await withDeadline(environment, Math.max(1, leftMs), () => asking).catch(() => undefined);
      const over = environment.monotonicMs() >= endMs || parts.isOver();
      if (answer === undefined || (answer.outcome === "granted" && !mine)) {
        if (over) return stillProcessing;
        continue;
      }
      if (answer.outcome !== "processing" || over) return answer;
    }
  }

  return {
    async wait(request) {
      const group = groups.get(request.id) ?? { waiters: 0, asking: undefined, pollMs: pollMsFirst };
      if (size >= parts.waitersMax || group.waiters >= limits.waitersPerKeyMax) return "crowded";
      groups.set(request.id, group);
      group.waiters += 1;
      size += 1;
      try {
        return await untilAnswered(group, request);
      } finally {
        size -= 1;
        group.waiters -= 1;
        if (group.waiters === 0) groups.delete(request.id);
      }
    },
    get size() {
      return size;
    },
  };
}
