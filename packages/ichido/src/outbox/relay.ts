/**
 * Sends what the outbox holds until a broker has taken it over. Any number of relays share the work: each leases lanes,
 * and keys belong to lanes. Within a key an event leaves only after the one before it was taken over.
 */
import { IchidoError } from "../core/contract/errors.ts";
import { knownOptions } from "../core/contract/option-checks.ts";
import { partsOf, type Outbox, type OutboxParts } from "./outbox.ts";
import { RelayWork } from "./relay-work.ts";
import { resolveRelayOptions, type RelayEvent, type RelayOptions, type ResolvedRelayOptions } from "./relay-options.ts";
import type { RouteHealth } from "./routes.ts";
import { SessionLost } from "./turn.ts";

export interface RelayHealth {
  readonly running: boolean;
  readonly lanes: number;
  /** Events in its hands, and of those on their way. */
  readonly held: number;
  readonly inFlight: number;
  /** Sent by a session that was lost, not marked yet. */
  readonly unmarked: number;
  /** Events that wait by themselves because they find no way although others do. */
  readonly setAside: number;
  readonly routes: readonly RouteHealth[];
  readonly lastError: unknown;
}

export interface RelayTickResult {
  readonly sent: number;
  readonly rejected: number;
  readonly dead: number;
  /** More may be due. */
  readonly more: boolean;
}

export interface Relay {
  /** Resolves once the tables are there and the relay has its session. */
  start(): Promise<void>;
  /** Takes no more, waits for what is on its way, writes what became of it and gives everything back. */
  stop(options?: { readonly drainMs?: number }): Promise<void>;
  /** One pass, for tests and cron: reads one batch, sends it, writes what became of it. */
  tick(): Promise<RelayTickResult>;
  health(): RelayHealth;
  /** Adds a listener; returns its removal. */
  on(listener: (event: RelayEvent) => void): () => void;
}

const drainMsDefault = 15_000;
const failuresMsMax = 5_000;

class RelayLife {
  readonly #work: RelayWork;
  readonly #onEvent: ResolvedRelayOptions["onEvent"];
  readonly #listen: OutboxParts["wake"]["listen"];
  #running: Promise<void> | undefined;
  #lastError: unknown;
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: OutboxParts, options: ResolvedRelayOptions) {
    this.#work = new RelayWork(parts, options);
    this.#onEvent = options.onEvent;
    this.#listen = (woken) => parts.wake.listen(woken);
  }

  /** One after the other: two at once would write and forget each other's outcomes. */
  inTurn<Value>(task: () => Promise<Value>): Promise<Value> {
    const next = this.#last.then(task);
    this.#last = next.catch(() => undefined);
    return next;
  }

  async #loop(unlisten: () => Promise<void>): Promise<void> {
    try {
      for (let failures = 0; !this.#work.isStopping;) failures = await this.#passAndRest(failures);
    } finally {
      await unlisten();
    }
  }

  /** How often it has failed in a row. */
  async #passAndRest(failures: number): Promise<number> {
    const { routes, signal } = this.#work;
    try {
      await this.#work.pass();
      const opens = routes.nextOpenMs();
      const rest = this.#work.restMs();
      if (rest > 0) await signal.rest(rest);
      if (opens !== undefined && routes.nextOpenMs() === undefined) this.#work.lookEverywhere();
      return 0;
    } catch (error) {
      if (error instanceof SessionLost) return failures;
      this.#lastError = error;
      this.#onEvent({ type: "failed", error });
      await signal.rest(Math.min(failuresMsMax, 50 * 2 ** Math.min(failures + 1, 10)));
      return failures + 1;
    }
  }

  async begin(): Promise<void> {
    if (this.#running !== undefined) return;
    const work = this.#work;
    work.isStopping = false;
    await work.prepare();
    await work.renewSession();
    // Before the loop, which is not awaited here: a channel that cannot listen is an error of `start`.
    this.#running = this.#loop(this.#listen(work.woken));
  }

  /** At once: what is under way ends early. */
  hurry(): void {
    this.#work.isStopping = true;
    this.#work.signal.raise();
  }

  async end(drainMs: number): Promise<void> {
    this.hurry();
    await this.#running;
    this.#running = undefined;
    this.#work.flights.dropWaiting();
    await this.#work.drain(drainMs);
    await this.#work.release();
  }

  async tickOnce(): Promise<RelayTickResult> {
    if (this.#running !== undefined) {
      throw new IchidoError("usage-invalid", "tick() is for a relay that was not started");
    }
    const work = this.#work;
    work.isStopping = false;
    await work.prepare();
    const { sent, rejected, dead } = work.outcomes.counts;
    const more = await work.once();
    const now = work.outcomes.counts;
    return { sent: now.sent - sent, rejected: now.rejected - rejected, dead: now.dead - dead, more };
  }

  health(): RelayHealth {
    const { lease, flights, sender, routes } = this.#work;
    return {
      running: this.#running !== undefined,
      lanes: lease.lanes.length,
      held: flights.size,
      inFlight: flights.inFlight,
      unmarked: sender.unmarked.size,
      setAside: sender.setAside,
      routes: routes.health(),
      lastError: this.#lastError,
    };
  }
}

export function createRelay(outbox: Outbox, relayOptions: RelayOptions): Relay {
  const parts = partsOf(outbox);
  const options = resolveRelayOptions(relayOptions, parts.environment);
  const life = new RelayLife(parts, options);
  let ticking: Promise<RelayTickResult> | undefined;
  return {
    start: () => life.inTurn(() => life.begin()),
    stop(stopOptions = {}) {
      knownOptions("relay.stop", stopOptions, { drainMs: true });
      const { drainMs = drainMsDefault } = stopOptions;
      life.hurry();
      return life.inTurn(() => life.end(drainMs));
    },
    tick() {
      // A timer that is faster than the broker joins the pass under way.
      ticking ??= life
        .inTurn(() => life.tickOnce())
        .finally(() => {
          ticking = undefined;
        });
      return ticking;
    },
    health: () => life.health(),
    on: options.on,
  };
}
