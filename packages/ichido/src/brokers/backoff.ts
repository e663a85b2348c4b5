/** Pauses between attempts to reach a broker: doubled each time, up to a limit, with jitter so that processes do not come all at once. */
import { upperHalfOf } from "../core/contract/jitter.ts";
import type { Environment } from "../core/contract/environment.ts";
import { asError } from "./hand-out.ts";

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

/** Opens what many wait for once, and refuses at once while the last attempt is known to have failed. */
export class Opening<Opened> {
  readonly #environment: Environment;
  readonly #make: () => Promise<Opened>;
  readonly #backoff: Backoff;
  #opening: Promise<Opened> | undefined;
  #failure: { readonly error: Error; readonly untilMs: number } | undefined;
  #end: Error | undefined;

  constructor(environment: Environment, make: () => Promise<Opened>) {
    this.#environment = environment;
    this.#make = make;
    this.#backoff = new Backoff(environment);
  }

  async open(): Promise<Opened> {
    if (this.#end !== undefined) throw this.#end;
    if (this.#failure !== undefined && this.#environment.monotonicMs() < this.#failure.untilMs)
      throw this.#failure.error;
    this.#opening ??= this.#attempt().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /** For callers that try again and again. */
  pause(): Promise<void> {
    return new Promise((resolve) => this.#environment.after(this.#backoff.next(), resolve));
  }

  /** No more from now on; gives what is being opened still. */
  async end(error: Error): Promise<Opened | undefined> {
    this.#end = error;
    return this.#opening?.catch(() => undefined);
  }

  async #attempt(): Promise<Opened> {
    try {
      const opened = await this.#make();
      this.#failure = undefined;
      this.#backoff.reset();
      return opened;
    } catch (error) {
      this.#failure = { error: asError(error), untilMs: this.#environment.monotonicMs() + this.#backoff.next() };
      throw error;
    }
  }
}
