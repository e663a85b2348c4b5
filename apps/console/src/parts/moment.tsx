/** A time: relative where one looks, exact where one points or copies. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { clock, exact, relative } from "../time.ts";

const everyMs = 5_000;
const watchers = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
/** How far the server's clock is ahead of this browser's. */
let aheadMs = 0;

export function setServerClock(nowMs: number): void {
  aheadMs = nowMs - Date.now();
}

export function serverNow(): number {
  return Date.now() + aheadMs;
}

/** One timer for all that is shown. */
export function useNow(): number {
  const [nowMs, setNowMs] = useState(serverNow);
  useEffect(() => {
    const watcher = (): void => setNowMs(serverNow());
    watchers.add(watcher);
    timer ??= setInterval(() => {
      for (const each of watchers) each();
    }, everyMs);
    return () => {
      watchers.delete(watcher);
      if (watchers.size > 0 || timer === undefined) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, []);
  return Math.max(nowMs, serverNow() - everyMs);
}

/** What a Date can say. */
const dateMsMax = 8.64e15;

interface MomentProps {
  readonly ms: number;
  /** The clock beside the age. */
  readonly both?: boolean;
}

export function Moment({ ms, both = false }: MomentProps): JSX.Element {
  const nowMs = useNow();
  // Events bring the times of others.
  if (!Number.isFinite(ms) || Math.abs(ms) > dateMsMax) return <span>–</span>;
  return (
    <time dateTime={new Date(ms).toISOString()} title={exact(ms)} class="nowrap">
      {relative(ms, nowMs)}
      {both && <span class="muted"> · {clock(ms, nowMs)}</span>}
    </time>
  );
}
