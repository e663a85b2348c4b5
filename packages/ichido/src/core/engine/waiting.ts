/**
 * Duplicates that wait for a running request instead of being refused. All that ask the same of one key in this process
 * share one watcher; no connection is held while they wait; every wait ends at its own deadline.
 */
import { around } from "../contract/jitter.ts";
import { limits } from "../contract/defaults.ts";
import { sleep, withDeadline } from "../contract/deadline.ts";
import type { Environment } from "../contract/environment.ts";
import type { Identity } from "../contract/record.ts";
import type { ClaimResult, Store } from "../contract/store.ts";
import { stillProcessing } from "../record-machine/claim.ts";

const pollMsFirst = 20;
const pollMsMax = 500;

export interface WaitRequest {
  /** One string per identity. */
  readonly id: string;
  /** One string per content: what is answered to one is no answer to another. */
  readonly content: string;
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
  /** Waiting is over. */
  readonly isOver: () => boolean;
}): Waiting {
  const { environment, store } = parts;
  const groups = new Map<string, Group>();
  /** Waiters of each identity, whatever they ask: many contents make no more room for a key than one. */
  const perKey = new Map<string, number>();
  let size = 0;

  function count(id: string, by: 1 | -1): void {
    const waiters = (perKey.get(id) ?? 0) + by;
    if (waiters === 0) perKey.delete(id);
    else perKey.set(id, waiters);
    size += by;
  }

  async function ask(group: Group, request: WaitRequest): Promise<ClaimResult> {
    const pauseMs = around(environment, group.pollMs);
    group.pollMs = Math.min(group.pollMs * 2, pollMsMax);
    const local = request.local();
    if (local !== undefined) await withDeadline(environment, pollMsMax, () => local).catch(() => undefined);
    else if (store.watch === undefined) await sleep(environment, pauseMs);
    else await watched(request.identity, pauseMs);
    return request.claim();
  }

  /** A store of the user's own may never answer. */
  function watched(identity: Identity, pauseMs: number): Promise<void> {
    const watching = withDeadline(environment, 2 * pauseMs, async () => store.watch?.(identity, pauseMs));
    return watching.catch(() => sleep(environment, pauseMs));
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
      // The one that asks must take the answer: it may be a grant.
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
      const { id, content } = request;
      if (size >= parts.waitersMax || (perKey.get(id) ?? 0) >= limits.waitersPerKeyMax) return "crowded";
      const groupId = content + id;
      const group = groups.get(groupId) ?? { waiters: 0, asking: undefined, pollMs: pollMsFirst };
      groups.set(groupId, group);
      group.waiters += 1;
      count(id, 1);
      try {
        return await untilAnswered(group, request);
      } finally {
        count(id, -1);
        group.waiters -= 1;
        if (group.waiters === 0) groups.delete(groupId);
      }
    },
    get size() {
      return size;
    },
  };
}
