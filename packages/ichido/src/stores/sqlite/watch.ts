/**
 * Wakes callers that wait for a record. Commits of this store wake them at once; commits of other connections are seen
 * by SQLite's own counter, one cheap read for all waiters together.
 */
import type { Identity } from "../../core/contract/record.ts";
import { isLive, isNewsSince, leaseLeftMs, type Look } from "../../core/record-machine/view.ts";
import { stateOf } from "../encoding.ts";
import { identityValues, integer } from "./row.ts";
import type { Session } from "./session.ts";

const pollMs = 25;

// Taken once: a test that replaces the global timers must not stop the store it shares a process with.
const { setInterval, setTimeout, clearInterval, clearTimeout } = globalThis;

interface Watcher {
  readonly identity: Identity;
  /** Of the first look. */
  readonly mark: string;
  wake(): void;
}

export interface Watching {
  /** Resolves at once when no owner is at work on the record. */
  watch(identity: Identity, timeoutMs: number): Promise<void>;
  /** This store committed a change of the record. */
  changed(identity: Identity): void;
  close(): void;
}

export function createWatching(session: Session): Watching {
  const { connection, queue } = session;
  const watchers = new Set<Watcher>();
  let timer: NodeJS.Timeout | undefined;
  let version = "";

  function look(identity: Identity): Look & { readonly leftMs: number } {
    const row = connection.get(session.statements.watch, ...identityValues(identity));
    if (row === undefined) return { mark: "", isLive: false, leftMs: 0 };
    const lease = { state: stateOf(row["state"]), leaseUs: integer(row, "lease_us") };
    const nowUs = session.nowUs();
    const mark = `${integer(row, "fence")} ${integer(row, "updated_us")}`;
    return { mark, isLive: isLive(lease, nowUs), leftMs: leaseLeftMs(lease, nowUs) };
  }

  function poll(): void {
    // The one counts commits of other connections, the other what was changed on this one, by the user's own code too.
    const { data_version: others } = connection.get("PRAGMA data_version") ?? {};
    const { own } = connection.get("SELECT total_changes() AS own") ?? {};
    if (`${String(others)} ${String(own)}` === version) return;
    version = `${String(others)} ${String(own)}`;
    for (const watcher of watchers) if (isNewsSince(watcher.mark, look(watcher.identity))) watcher.wake();
  }

  function pollEvery(): void {
    version = "";
    timer = setInterval(() => {
      // A poll that fails is made good by the next one, or by the end of the wait.
      queue.read(poll).catch(() => undefined);
    }, pollMs);
  }

  return {
    async watch(identity, timeoutMs) {
      const first = await queue.read(() => look(identity));
      if (isNewsSince(first.mark, first)) return;
      await new Promise<void>((resolve) => {
        const watcher: Watcher = {
          identity,
          mark: first.mark,
          wake() {
            clearTimeout(timeout);
            watchers.delete(watcher);
            if (watchers.size === 0) clearInterval(timer);
            resolve();
          },
        };
        // A lease that lapses commits nothing, so its end is waited for as well.
        const timeout = setTimeout(() => watcher.wake(), Math.min(timeoutMs, first.leftMs));
        watchers.add(watcher);
        if (watchers.size === 1) pollEvery();
      });
    },
    changed(identity) {
      for (const watcher of watchers) if (watcher.identity.key === identity.key) watcher.wake();
    },
    close() {
      for (const watcher of watchers) watcher.wake();
    },
  };
}
