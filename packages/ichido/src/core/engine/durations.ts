/** How long something takes, without keeping every figure: eight buckets for each doubling, so about 9 % too much at most. */
import type { DurationFigures } from "../contract/duration-figures.ts";

const perDoubling = 8;
const bucketsMax = 28 * perDoubling;

export class Durations {
  readonly #counts: number[] = [];
  #count = 0;
  #maxMs = 0;

  add(durationMs: number): void {
    const bucket = Math.min(bucketsMax, Math.max(0, Math.ceil(Math.log2(Math.max(1, durationMs)) * perDoubling)));
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#count += 1;
    this.#maxMs = Math.max(this.#maxMs, durationMs);
  }

  get count(): number {
    return this.#count;
  }

  #at(part: number): number {
    let left = Math.ceil(this.#count * part);
    for (const [bucket, count = 0] of this.#counts.entries()) {
      left -= count;
      if (left <= 0) return Math.min(this.#maxMs, 2 ** (bucket / perDoubling));
    }
    return this.#maxMs;
  }

  figures(): DurationFigures {
    return {
      count: this.#count,
      p50Ms: Math.round(this.#at(0.5)),
      p99Ms: Math.round(this.#at(0.99)),
      maxMs: Math.round(this.#maxMs),
    };
  }
}
