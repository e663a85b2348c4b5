/**
 * Waiting duplicates. All waiters of a process share one poll, which asks for all their records in one statement, and one
 * LISTEN connection where that was asked for; a hundred waiters never take more than one connection of the pool.
 *
 * A completion notifies only when the record is marked as watched, which a listening process does once per record: NOTIFY
 * serialises commits across the whole database, so the hot path stays free of it. Records that this process itself
 * completes wake their waiters at once, without the server.
 */
import { around } from "../../core/contract/jitter.ts";
import { createHash } from "node:crypto";
import type { Environment, Timer } from "../../core/contract/environment.ts";
import type { Identity } from "../../core/contract/record.ts";
import { Waiters } from "../waiters.ts";
import { idOf } from "../group.ts";
import type { Listener } from "./listen.ts";
import { encodeText } from "./text.ts";

/** Between two polls, times a random factor from 0.5 to 1.5. */
const pollMs = 60;
/** While notifications come, a poll only finds what a lost one missed. */
const listeningPollMs = 1_000;
const pollFailedMs = 500;
const identitiesPerPoll = 500;

interface Watched {
  readonly identity: Identity;
  marked: boolean;
}

export interface Watcher {
  watch(identity: Identity, timeoutMs: number): Promise<void>;
  /** This process changed the record itself. */
  wake(identity: Identity): void;
  /** A notification came. */
  wakeByDigest(digest: string): void;
  close(): void;
}

export interface WatcherOptions {
  readonly environment: Environment;
  /** The indexes of those that may have changed. */
  poll(identities: readonly Identity[]): Promise<readonly number[]>;
  mark(identities: readonly Identity[]): Promise<void>;
  listener(): Listener | undefined;
}

/** What `pg_notify` carries: never the key in clear. */
export function digestOf(identity: Identity): string {
  return createHash("sha256").update(encodeText(identity.key), "utf8").update(identity.scopeHash).digest("hex");
}

export function createWatcher(options: WatcherOptions): Watcher {
  const { environment } = options;
  const idsByDigest = new Map<string, string>();
  const waiters = new Waiters<Watched>(environment, (_id, { identity }) => idsByDigest.delete(digestOf(identity)));
  let timer: Timer | undefined;
  let polling = false;
  let closed = false;

  function schedule(delayMs: number): void {
    timer?.cancel();
    timer = environment.after(around(environment, delayMs), () => void look());
  }

  /** One look at all records. While it runs no other starts; what comes meanwhile is looked at next. */
  async function look(): Promise<void> {
    if (polling || closed || waiters.size === 0) return;
    polling = true;
    let nextMs = pollMs;
    try {
      const listener = options.listener();
      await listener?.open();
      const entries = waiters.entries().slice(0, identitiesPerPoll);
      if (listener?.healthy === true) {
        nextMs = listeningPollMs;
        const unmarked = entries.map(([, each]) => each).filter((each) => !each.marked);
        // Marked before the look: a change after it notifies, a change before it is seen.
        if (unmarked.length > 0) await options.mark(unmarked.map((each) => each.identity));
        for (const each of unmarked) each.marked = true;
      }
      const changed = await options.poll(entries.map(([, each]) => each.identity));
      for (const index of changed) waiters.wake(entries[index]?.[0] ?? "");
      // Those beyond the bound come first next time.
      if (waiters.size > identitiesPerPoll) for (const [id] of entries) waiters.putLast(id);
      if (waiters.entries().some(([, each]) => !each.marked)) nextMs = pollMs;
    } catch {
      nextMs = pollFailedMs;
    } finally {
      polling = false;
      if (waiters.size > 0) schedule(nextMs);
    }
  }

  function watch(identity: Identity, timeoutMs: number): Promise<void> {
    if (closed || timeoutMs <= 0) return Promise.resolve();
    const id = idOf(identity);
    const waiting = waiters.wait(id, timeoutMs, () => {
      idsByDigest.set(digestOf(identity), id);
      return { identity, marked: false };
    });
    if (!polling) schedule(pollMs / 2);
    return waiting;
  }

  return {
    watch,
    wake: (identity) => {
      if (waiters.size > 0) waiters.wake(idOf(identity));
    },
    wakeByDigest: (digest) => waiters.wake(idsByDigest.get(digest) ?? ""),
    close() {
      closed = true;
      timer?.cancel();
      waiters.wakeAll();
    },
  };
}
