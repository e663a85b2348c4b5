/** Pauses between attempts to reach a broker: doubled each time, up to a limit, with jitter so that processes do not come all at once. */
import { upperHalfOf } from "../core/contract/jitter.ts";
import type { Environment } from "../core/contract/environment.ts";

const pauseMsFirst = 100;
const pauseMsMax = 5_000;

export class Backoff {
  readonly #environment: Environment;
  #pauseMs = pauseMsFirst;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  next(): number {
    const pauseMs = upperHalfOf(this.#environment, this.#pauseMs);
    this.#pauseMs = Math.min(this.#pauseMs * 2, pauseMsMax);
    return pauseMs;
  }

  reset(): void {
    this.#pauseMs = pauseMsFirst;
  }
}
