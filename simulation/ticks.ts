/** What the watcher holds the store's trust in its clock against: nothing may expire unless ticks came evenly for a while. */

export interface Ticks {
  note(nowMs: number, intervalMs: number): void;
  isSteady(nowMs: number): boolean;
}

const intervals = 3;

export function createTicks(): Ticks {
  let intervalMs = 0;
  /** In order, each no further from the one before than is even. */
  let even: number[] = [];
  return {
    note(nowMs, everyMs) {
      const last = even.at(-1);
      const isEven = last !== undefined && nowMs >= last && nowMs - last <= intervals * everyMs;
      even = isEven ? [...even, nowMs] : [nowMs];
      intervalMs = everyMs;
    },
    isSteady(nowMs) {
      const [first, last] = [even[0], even.at(-1)];
      if (first === undefined || last === undefined || nowMs < last) return false;
      return nowMs - last <= intervals * intervalMs && nowMs - first >= intervals * intervalMs;
    },
  };
}
