/** What a relay does in one pass: it reads due events, sends them and writes down what became of them, under its lease. */
import type { Environment } from "../core/contract/environment.ts";
import { createFlights } from "./flights.ts";
import { laneCount } from "./lanes.ts";
import { Lease } from "./lease.ts";
import { createOutcomes } from "./outcomes.ts";
import type { OutboxParts } from "./outbox.ts";
import { PassedKeys } from "./passed-keys.ts";
import { Readings } from "./readings.ts";
import type { ResolvedRelayOptions } from "./relay-options.ts";
import { numberOf } from "../sql/columns.ts";
import { createRoutes, type Routes } from "./routes.ts";
import { createSender, type Sender } from "./sender.ts";
import { createSignal } from "./signal.ts";
import { takeTurn, type Outcome } from "./turn.ts";

export class RelayWork {
  readonly #parts: OutboxParts;
  readonly #options: ResolvedRelayOptions;
  readonly #environment: Environment;
  readonly #heldMax: number;
  /** Of one key at most so many in hand: they leave one after the other, and others must not wait behind them. */
  readonly #chainMax: number;
  readonly #readings: Readings;
  readonly #passedKeys = new PassedKeys();
  readonly routes: Routes;
  readonly flights = createFlights();
  readonly signal;
  readonly outcomes;
  readonly lease: Lease;
  readonly sender: Sender;
  isStopping = false;
  #prepared = false;

  constructor(parts: OutboxParts, options: ResolvedRelayOptions) {
    const { environment, batch } = options;
    this.#parts = parts;
    this.#options = options;
    this.#environment = environment;
    this.#heldMax = 2 * batch;
    this.#chainMax = Math.max(1, Math.floor(batch / 4));
    this.#readings = new Readings(this.nowMs, options);
    this.routes = createRoutes(parts.topics, options.routes, options, environment);
    this.signal = createSignal(environment);
    this.outcomes = createOutcomes(this.nowMs, batch / 2);
    this.lease = new Lease(parts, options, () => {
      this.sender.sessionLost();
      this.#passedKeys.forget();
      options.onEvent({ type: "session-lost" });
    });
    const { routes, flights, outcomes } = this;
    this.sender = createSender({
      options,
      topics: parts.topics,
      routes,
      flights,
      outcomes,
      covered: () => this.lease.isCovered,
      changed: () => this.#changed(),
    });
  }

  readonly nowMs = (): number => this.#environment.monotonicMs();

  readonly woken = (): void => {
    this.#readings.wake();
    this.signal.raise();
  };

  lookEverywhere(): void {
    this.#readings.rescan();
    this.woken();
  }

  #changed(): void {
    const { outcomes, flights } = this;
    outcomes.wait();
    if (!this.isStopping) this.sender.sendFree();
    if (flights.hasRoomAgain()) this.lookEverywhere();
    else if (outcomes.size >= this.#options.batch / 2 || flights.inFlight === 0) this.signal.raise();
  }

  async prepare(): Promise<void> {
    if (this.#prepared) return;
    const { transactions, run, requireSchema } = this.#parts;
    await requireSchema();
    await transactions.run(async (_tx, handle) => {
      const [row] = (await run(handle, "countLanes")).rows;
      if (row !== undefined && numberOf(row, "lanes") === laneCount) return;
      for (let lane = 0; lane < laneCount; lane += 1) await run(handle, "addLanes", { lane });
    });
    this.#prepared = true;
  }

  async renewSession(): Promise<void> {
    const { flights, lease } = this;
    // What became of these is not written yet: another relay with their lanes would send them again.
    const unwritten = this.outcomes.all().map(({ event }) => event);
    const { changed, surplus } = await lease.renew({
      seqs: [...flights.seqs(), ...unwritten.map(({ seq }) => seq)],
      lanes: new Set([...flights.lanes(), ...unwritten.map(({ lane }) => lane)]),
    });
    if (changed) this.lookEverywhere();
    for (const lane of surplus) flights.dropLane(lane);
  }

  /** Writes what became of events and, where `claims` is more than none, reads as many. How many were found. */
  async turn(claims: number, suspectBatch: readonly number[] = [], ofOneKey = this.#chainMax): Promise<number> {
    const { lease, outcomes, flights, sender, routes } = this;
    const { run, transactions, keepSentMs } = this.#parts;
    const held = lease.session;
    if (held === undefined) return 0;
    // Both at one moment: an event that arrives while the turn is under way belongs to the next one, and is still held.
    const known = outcomes.all();
    const inHand = suspectBatch.length > 0 ? suspectBatch : flights.seqs();
    const reading = this.#readings.next(sender.beyond);
    const paused = routes.pausedPatterns();
    flights.beginReading();
    const found = await lease.fenced(() =>
      takeTurn(run, transactions, {
        session: held,
        leaseMs: this.#options.leaseMs,
        outcomes: known,
        held: inHand,
        alone: suspectBatch.length > 0,
        keepsSent: keepSentMs > 0,
        ...(claims > 0 && {
          claim: {
            floor: reading.floor,
            lanes: lease.ownLanes,
            pausedTopics: routes.pausedTopics(),
            fullKeys: flights.fullKeys(ofOneKey),
            passedKeys: reading.floor === 0 ? [] : this.#passedKeys.above(reading.floor),
            batch: claims,
          },
        }),
      }),
    );
    outcomes.written(known);
    this.#notePassed(known);
    if (claims > 0) {
      const last = found.at(-1)?.seq ?? 0;
      const isFull = found.length >= claims;
      this.#readings.read(reading, last, isFull);
      // A claim leaves out the topics of a pause that it knows; of those that it does not know an earlier event of the
      // same key may be missing, and the pause may be over by now.
      const taken = sender.markSent(found).filter(({ message }) => !routes.goesBy(message.topic, paused));
      flights.accept(sender.sift(taken, { last, isFull }), ofOneKey);
    }
    return found.length;
  }

  /** Not where dead letters are passed by: one that is replayed comes before what waits, and it may have any number. */
  #notePassed(written: readonly Outcome[]): void {
    for (const { kind, event } of written)
      if (kind === "sent" && this.#parts.topics.find(event.message.topic)?.onDead === "park-key")
        this.#passedKeys.sent(event);
  }

  /**
   * Small batches, one after the other, each known to the database before it leaves; the same turn writes what became
   * of the one before.
   */
  async sendSuspects(): Promise<void> {
    const { sender, signal, flights } = this;
    let suspectBatch = sender.suspectBatch();
    if (suspectBatch.length === 0) return;
    const waitMs = this.#options.leaseMs / 3;
    for (; suspectBatch.length > 0; suspectBatch = sender.suspectBatch()) {
      const seqs = suspectBatch.map(({ seq }) => seq);
      await this.turn(0, seqs);
      for (const event of suspectBatch) sender.send(event);
      // A broker slower than the lease must not look like a process that ended.
      while (!this.isStopping && !(await signal.until(() => flights.inFlight === 0, waitMs))) await this.turn(0, seqs);
    }
    await this.turn(0);
  }

  async pass(): Promise<void> {
    const { flights, outcomes } = this;
    const { batch } = this.#options;
    if (this.nowMs() >= this.lease.renewAtMs) await this.renewSession();
    const room = Math.min(batch, this.#heldMax - flights.size);
    const looks = this.nowMs() >= this.#readings.lookAtMs && room >= batch / 2;
    if (looks || outcomes.isDue(flights.inFlight > 0)) {
      const found = await this.turn(looks ? room : 0);
      if (looks) this.#readings.rest(found, found >= room);
    }
    await this.sendSuspects();
    this.sender.sendFree();
  }

  /** One batch, to its end. Whether more may be due. */
  async once(): Promise<boolean> {
    const { flights, sender, signal } = this;
    const { batch } = this.#options;
    await this.renewSession();
    this.#readings.rescan();
    let found = await this.turn(batch, [], batch);
    while (!this.isStopping && flights.heads.size === 0 && sender.beyond !== undefined) {
      found = await this.turn(batch, [], batch);
    }
    await this.sendSuspects();
    while (!this.isStopping && (flights.heads.size > 0 || flights.inFlight > 0)) {
      sender.sendFree();
      if (flights.inFlight === 0 && flights.heads.size > 0) break;
      await signal.until(() => flights.inFlight === 0 || this.isStopping);
    }
    flights.dropWaiting();
    await this.turn(0);
    return found === batch;
  }

  /** Milliseconds until there is something to do without a wake-up. */
  restMs(): number {
    const from = this.nowMs();
    const waits = [this.lease.renewAtMs - from];
    if (this.#heldMax - this.flights.size >= this.#options.batch / 2) waits.push(this.#readings.lookAtMs - from);
    for (const restMs of [this.outcomes.restMs(), this.routes.nextOpenMs()]) {
      if (restMs !== undefined) waits.push(restMs);
    }
    return Math.max(0, Math.min(...waits));
  }

  /** The lease goes on meanwhile, and what arrived is written: a slow broker must not look like a process that ended. */
  async drain(drainMs: number): Promise<void> {
    const endMs = this.nowMs() + drainMs;
    const { leaseMs, onEvent } = this.#options;
    for (let leftMs = drainMs; leftMs > 0; leftMs = endMs - this.nowMs()) {
      if (await this.signal.until(() => this.flights.inFlight === 0, Math.min(leftMs, leaseMs / 3))) return;
      try {
        await this.turn(0);
      } catch (error) {
        onEvent({ type: "failed", error });
      }
    }
  }

  async release(): Promise<void> {
    const { lease } = this;
    const held = lease.session;
    if (held === undefined) return;
    try {
      await this.turn(0);
      await lease.giveBack(held);
    } catch (error) {
      // The lease ends it instead.
      this.#options.onEvent({ type: "failed", error });
    }
    lease.forget();
    this.#passedKeys.forget();
    // What arrives from now on belongs to no session: another relay may have its lane.
    this.sender.sessionLost();
  }
}
