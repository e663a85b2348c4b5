/** Time, chance and the network's presence, as the client sees them. */
export interface ClientClock {
  /** By the calendar: how old an attempt is. */
  nowMs(): number;
  /** Never moves back: deadlines. Default `nowMs`. */
  elapsedMs?(): number;
  random(): number;
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void>;
}

/** Until the time is over, the target is online, or the signal aborts; never rejects. */
function until(ms: number, signal: AbortSignal | undefined, target?: Partial<EventTarget>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done(): void {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      target?.removeEventListener?.("online", done);
      resolve();
    }
    signal?.addEventListener("abort", done);
    target?.addEventListener?.("online", done);
    if (signal?.aborted === true) done();
  });
}

export const systemClock: ClientClock = {
  nowMs: () => Date.now(),
  elapsedMs: () => performance.now(),
  random: Math.random,
  sleep: (ms, signal) => until(ms, signal),
};

/** Only "offline" can be trusted, and only browsers report it. */
export function isOffline(): boolean {
  return globalThis.navigator?.onLine === false;
}

export function untilOnline(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return until(ms, signal, globalThis);
}
