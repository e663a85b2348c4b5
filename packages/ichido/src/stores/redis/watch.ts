/**
 * Waiting duplicates. All waiters of a process share one subscriber connection, opened when the first one waits, and
 * one look per record at a time. A record is marked as watched by the look itself, so that completions without waiters
 * publish nothing. Publications are hints; a waiter that misses one finds the change by its next look.
 */
import { around } from "../../core/contract/jitter.ts";
import type { Environment, Timer } from "../../core/contract/environment.ts";
import type { Link, SubscriberLink } from "../../drivers/redis/link.ts";
import { isNewsSince } from "../../core/record-machine/view.ts";
import { Waiters } from "../waiters.ts";
import type { Names } from "./names.ts";

/** Between two looks, times a random factor from 0.5 to 1.5. */
const pauseMsFirst = 25;
const pauseMsMax = 500;
/** While publications come, a look only finds what a lost one missed. */
const subscribedPauseMs = 1_000;
const failedPauseMs = 500;

export interface Watcher {
  watch(recordName: string, timeoutMs: number): Promise<void>;
  /** This process itself ended the record. */
  wake(recordName: string): void;
  close(): void;
}

interface Watched {
  timer: Timer | undefined;
  /** The fence at the first look. */
  mark: string | undefined;
  subscribed: boolean;
  pauseMs: number;
}

export interface WatcherParts {
  readonly link: Link;
  readonly names: Names;
  readonly environment: Environment;
  readonly notify: boolean;
  /** `state fence live`, or nothing without a record. */
  readonly look: (recordName: string) => Promise<string>;
}

export function createWatcher({ link, names, environment, notify, look }: WatcherParts): Watcher {
  const waiters = new Waiters<Watched>(environment, (name, entry) => {
    entry.timer?.cancel();
    void unsubscribe(name, entry);
  });
  const byChannel = new Map<string, string>();
  let subscriber: Promise<SubscriberLink> | undefined;
  let closed = false;

  const wake = (name: string): void => waiters.wake(name);

  /** Subscribed before the look: an end after the look is published, an end before it is seen by the look. */
  async function subscribe(name: string, entry: Watched): Promise<void> {
    if (!notify || entry.subscribed) return;
    const channel = names.channel(name);
    byChannel.set(channel, name);
    subscriber ??= link.subscriber((from) => wake(byChannel.get(from) ?? ""));
    try {
      await (await subscriber).subscribe(channel);
      entry.subscribed = true;
      if (waiters.get(name) !== entry) await unsubscribe(name, entry);
    } catch {
      // Looking goes on without it; the next waiter tries again.
      if (!closed) await subscriber?.then((each) => each.close()).catch(() => undefined);
      subscriber = undefined;
    }
  }

  async function unsubscribe(name: string, entry: Watched): Promise<void> {
    const channel = names.channel(name);
    // Another caller may have begun to wait for the same record meanwhile.
    if (waiters.get(name) !== undefined) return;
    byChannel.delete(channel);
    if (entry.subscribed) await subscriber?.then((each) => each.unsubscribe(channel)).catch(() => undefined);
  }

  async function observe(name: string, entry: Watched): Promise<void> {
    let nextMs = failedPauseMs;
    try {
      const [, mark = "", live] = (await look(name)).split(" ");
      entry.mark ??= mark;
      if (isNewsSince(entry.mark, { mark, isLive: live === "live" })) return wake(name);
      nextMs = entry.subscribed ? subscribedPauseMs : entry.pauseMs;
      entry.pauseMs = Math.min(2 * entry.pauseMs, pauseMsMax);
    } catch {
      // A store that cannot be reached is met by the claim that follows the wait.
    }
    if (waiters.get(name) !== entry) return undefined;
    entry.timer = environment.after(around(environment, nextMs), () => void observe(name, entry));
    return undefined;
  }

  async function begin(name: string, entry: Watched): Promise<void> {
    // A subscriber that does not come up must not keep the first look waiting.
    void subscribe(name, entry).then(() => {
      if (!entry.subscribed || waiters.get(name) !== entry) return;
      entry.timer?.cancel();
      void observe(name, entry);
    });
    if (!notify) await observe(name, entry);
    else entry.timer = environment.after(pauseMsFirst, () => void observe(name, entry));
  }

  return {
    async watch(name, timeoutMs) {
      if (closed || timeoutMs <= 0) return;
      await waiters.wait(name, timeoutMs, () => {
        const entry: Watched = { timer: undefined, mark: undefined, subscribed: false, pauseMs: pauseMsFirst };
        void begin(name, entry);
        return entry;
      });
    },
    wake,
    close() {
      closed = true;
      waiters.wakeAll();
      void subscriber?.then((each) => each.close()).catch(() => undefined);
      subscriber = undefined;
    },
  };
}
