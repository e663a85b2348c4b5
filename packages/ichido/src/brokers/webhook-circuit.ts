/**
 * One endpoint's places and its circuit. After `openAfter` failures in a row nothing is sent for `probeMs`; then one
 * event tries, and its outcome decides for all events. A receiver that names a time itself is believed at once.
 */
import type { Environment } from "../core/contract/environment.ts";

export interface CircuitSettings {
  readonly openAfter: number;
  readonly probeMs: number;
  readonly concurrency: number;
  readonly environment: Environment;
}

export type Entrance =
  | { readonly open: false; readonly probe: boolean }
  | { readonly open: true; readonly retryAfterMs: number };

export class WebhookCircuit {
  readonly #settings: CircuitSettings;
  readonly #waiting: (() => void)[] = [];
  #places: number;
  #failures = 0;
  #closedAgainMs = 0;
  #open = false;
  #probing = false;

  constructor(settings: CircuitSettings) {
    this.#settings = settings;
    this.#places = settings.concurrency;
  }

  /** Whether to send now; the request that is let in as the probe must report its outcome. */
  enter(): Entrance {
    if (!this.#open) return { open: false, probe: false };
    const leftMs = this.#closedAgainMs - this.#settings.environment.monotonicMs();
    if (leftMs > 0) return { open: true, retryAfterMs: Math.ceil(leftMs) };
    if (this.#probing) return { open: true, retryAfterMs: this.#settings.probeMs };
    this.#probing = true;
    return { open: false, probe: true };
  }

  answered(probe: boolean): void {
    this.#failures = 0;
    // One that was under way when the circuit opened proves nothing about now.
    if (probe) this.#open = this.#probing = false;
  }

  failed(probe: boolean, pauseMs?: number): void {
    this.#failures += 1;
    if (probe) this.#probing = false;
    if (!probe && pauseMs === undefined && this.#failures < this.#settings.openAfter) return;
    const { environment, probeMs } = this.#settings;
    this.#open = true;
    this.#closedAgainMs = Math.max(this.#closedAgainMs, environment.monotonicMs() + (pauseMs ?? probeMs));
  }

  /** The event was never sent, which proves nothing about the endpoint. */
  abandoned(probe: boolean): void {
    if (probe) this.#probing = false;
  }

  get retryAfterMs(): number {
    const leftMs = this.#closedAgainMs - this.#settings.environment.monotonicMs();
    return this.#open && leftMs > 0 ? Math.ceil(leftMs) : 0;
  }

  /** A place for a request, or `false` when none came free in time. */
  place(timeoutMs: number): Promise<boolean> {
    if (this.#places > 0) {
      this.#places -= 1;
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const proceed = (): void => {
        timer.cancel();
        resolve(true);
      };
      const give = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(proceed), 1);
        resolve(false);
      };
      const timer = this.#settings.environment.after(timeoutMs, give, { hold: true });
      this.#waiting.push(proceed);
    });
  }

  leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#places += 1;
    else next();
  }
}
