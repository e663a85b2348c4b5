/** How long something took, over all times that it was done. */
export interface DurationFigures {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}
