/** Where the next reading of the outbox begins, and when it is worth one. */

/** Events that committed late have numbers below those seen: the next reads begin this far back. */
const gap = 1_000;
/** And this often at the very beginning, for what committed later still, was delayed or sent back. */
const rescanMs = 1_000;

export interface Reading {
  readonly floor: number;
  /** From the very beginning. */
  readonly rescans: boolean;
}

export class Readings {
  readonly #nowMs: () => number;
  readonly #idle: { readonly idleMs: number; readonly idleMsMax: number };
  #highest = 0;
  #rescanAtMs = 0;
  #lookAtMs = 0;
  #idleMs: number;

  constructor(nowMs: () => number, idle: { readonly idleMs: number; readonly idleMsMax: number }) {
    this.#nowMs = nowMs;
    this.#idle = idle;
    this.#idleMs = idle.idleMs;
  }

  get lookAtMs(): number {
    return this.#lookAtMs;
  }

  /** A wake-up said that there is something to read. */
  wake(): void {
    this.#idleMs = this.#idle.idleMs;
    this.#lookAtMs = 0;
  }

  /** The next one begins at the very beginning. */
  rescan(): void {
    this.#rescanAtMs = 0;
  }

  /** `beyond`: all before it was tried in vain. */
  next(beyond: number | undefined): Reading {
    const rescans = beyond === undefined && this.#nowMs() >= this.#rescanAtMs;
    return { floor: rescans ? 0 : (beyond ?? Math.max(0, this.#highest - gap)), rescans };
  }

  /** A reading from zero that came to its limit goes on from there: what stands behind was perhaps never read. */
  read({ rescans }: Reading, last: number, isFull: boolean): void {
    this.#highest = rescans && isFull ? last : Math.max(this.#highest, last);
    if (rescans) this.#rescanAtMs = this.#nowMs() + rescanMs;
  }

  /** Nothing found: the next look is later each time. */
  rest(found: number, isFull: boolean): void {
    this.#idleMs = found > 0 ? this.#idle.idleMs : Math.min(this.#idle.idleMsMax, this.#idleMs * 1.5);
    this.#lookAtMs = isFull ? 0 : this.#nowMs() + this.#idleMs;
  }
}
