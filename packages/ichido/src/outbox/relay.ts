/**
 * Sends what the outbox holds until a broker has taken it over. Any number of relays share the work: each leases lanes,
 * and keys belong to lanes. Within a key an event leaves only after the one before it was taken over.
 */
import { IchidoError } from "../core/contract/errors.ts";
import { knownOptions } from "../core/contract/option-checks.ts";
import { createFlights } from "./flights.ts";
import { laneCount } from "./lanes.ts";
import { Lease } from "./lease.ts";
import { createOutcomes } from "./outcomes.ts";
import { partsOf, type Outbox } from "./outbox.ts";
import { Readings } from "./readings.ts";
import { resolveRelayOptions, type RelayOptions } from "./relay-options.ts";
import { numberOf } from "../sql/columns.ts";
import { createRoutes, type RouteHealth } from "./routes.ts";
import { createSender } from "./sender.ts";
import { createSignal } from "./signal.ts";
import { SessionLost, takeTurn } from "./turn.ts";

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
}

const drainMsDefault = 15_000;
const failuresMsMax = 5_000;

export function createRelay(outbox: Outbox, relayOptions: RelayOptions): Relay {
  const parts = partsOf(outbox);
  const { transactions, run, topics, wake, keepSentMs, requireSchema } = parts;
  const options = resolveRelayOptions(relayOptions, parts.environment);
  const { environment, leaseMs, batch, onEvent } = options;
  const routes = createRoutes(topics, options.routes, options, environment);
  const flights = createFlights();
  const signal = createSignal(environment);
  const nowMs = (): number => environment.monotonicMs();
  const outcomes = createOutcomes(nowMs, batch / 2);
  const readings = new Readings(nowMs, options);
  const heldMax = 2 * batch;
  /** Of one key at most so many in hand: they leave one after the other, and others must not wait behind them. */
  const chainMax = Math.max(1, Math.floor(batch / 4));

  let failures = 0;
  let lastError: unknown;
  let running: Promise<void> | undefined;
  let stopping = false;
  let prepared = false;
  let ticking: Promise<RelayTickResult> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  const lease = new Lease(parts, options, () => {
    sender.sessionLost();
    onEvent({ type: "session-lost" });
  });
  const sender = createSender({
    options,
    topics,
    routes,
    flights,
    outcomes,
    covered: () => lease.isCovered,
    changed() {
      outcomes.wait();
      if (!stopping) sender.sendFree();
      if (flights.hasRoomAgain()) lookEverywhere();
      else if (outcomes.size >= batch / 2 || flights.inFlight === 0) signal.raise();
    },
  });

  const woken = (): void => {
    readings.wake();
    signal.raise();
  };

  const lookEverywhere = (): void => {
    readings.rescan();
    woken();
  };

  async function prepare(): Promise<void> {
    if (prepared) return;
    await requireSchema();
    await transactions.run(async (_tx, handle) => {
      const [row] = (await run(handle, "countLanes")).rows;
      if (row !== undefined && numberOf(row, "lanes") === laneCount) return;
      for (let lane = 0; lane < laneCount; lane += 1) await run(handle, "addLanes", { lane });
    });
    prepared = true;
  }

  async function renewSession(): Promise<void> {
    // What became of these is not written yet: whoever had their lanes would send them again.
    const unwritten = outcomes.all().map(({ event }) => event);
    const { changed, surplus } = await lease.renew({
      seqs: [...flights.seqs(), ...unwritten.map(({ seq }) => seq)],
      lanes: new Set([...flights.lanes(), ...unwritten.map(({ lane }) => lane)]),
    });
    if (changed) lookEverywhere();
    for (const lane of surplus) flights.dropLane(lane);
  }

  async function turn(claims: number, suspectBatch: readonly number[] = [], ofOneKey = chainMax): Promise<number> {
    const held = lease.session;
    if (held === undefined) return 0;
    // Both at one moment: an event that arrives while the turn is under way belongs to the next one, and is still held.
    const known = outcomes.all();
    const inHand = suspectBatch.length > 0 ? suspectBatch : flights.seqs();
    const reading = readings.next(sender.beyond);
    const paused = routes.pausedPatterns();
    flights.beginReading();
    const found = await lease.fenced(() =>
      takeTurn(run, transactions, {
        session: held,
        leaseMs,
        outcomes: known,
        held: inHand,
        alone: suspectBatch.length > 0,
        keepsSent: keepSentMs > 0,
        ...(claims === 0
          ? {}
          : {
              claim: {
                floor: reading.floor,
                lanes: lease.ownLanes,
                pausedTopics: routes.pausedTopics(),
                fullKeys: flights.fullKeys(ofOneKey),
                batch: claims,
              },
            }),
      }),
    );
    outcomes.written(known);
    if (claims > 0) {
      const last = found.at(-1)?.seq ?? 0;
      const isFull = found.length >= claims;
      readings.read(reading, last, isFull);
      // A claim leaves out the topics of a pause that it knows; of those that it does not know an earlier event of the
      // same key may be missing, and the pause may be over by now.
      const taken = sender.markSent(found).filter(({ message }) => !routes.goesBy(message.topic, paused));
      flights.accept(sender.sift(taken, { last, isFull }), ofOneKey);
    }
    return found.length;
  }

  /**
   * Small companies, one after the other, each known to the database before it leaves; the same turn writes what became of
   * the one before.
   */
  async function sendSuspects(): Promise<void> {
    let suspectBatch = sender.suspectBatch();
    if (suspectBatch.length === 0) return;
    for (; suspectBatch.length > 0; suspectBatch = sender.suspectBatch()) {
      const seqs = suspectBatch.map(({ seq }) => seq);
      await turn(0, seqs);
      for (const event of suspectBatch) sender.send(event);
      // A broker slower than the lease must not look like a process that ended.
      while (!stopping && !(await signal.until(() => flights.inFlight === 0, leaseMs / 3))) await turn(0, seqs);
    }
    await turn(0);
  }

  async function pass(): Promise<void> {
    if (nowMs() >= lease.renewAtMs) await renewSession();
    const room = Math.min(batch, heldMax - flights.size);
    const looks = nowMs() >= readings.lookAtMs && room >= batch / 2;
    if (looks || outcomes.isDue(flights.inFlight > 0)) {
      const found = await turn(looks ? room : 0);
      if (looks) readings.rest(found, found >= room);
    }
    await sendSuspects();
    sender.sendFree();
  }

  /** Milliseconds until there is something to do without anybody's word. */
  function restMs(): number {
    const from = nowMs();
    const waits = [lease.renewAtMs - from];
    if (heldMax - flights.size >= batch / 2) waits.push(readings.lookAtMs - from);
    for (const restMs of [outcomes.restMs(), routes.nextOpenMs()]) if (restMs !== undefined) waits.push(restMs);
    return Math.max(0, Math.min(...waits));
  }

  async function loop(): Promise<void> {
    while (!stopping) {
      try {
        await pass();
        failures = 0;
        const opens = routes.nextOpenMs();
        const rest = restMs();
        if (rest > 0) await signal.rest(rest);
        if (opens !== undefined && routes.nextOpenMs() === undefined) lookEverywhere();
      } catch (error) {
        if (error instanceof SessionLost) continue;
        failures += 1;
        lastError = error;
        onEvent({ type: "failed", error });
        await signal.rest(Math.min(failuresMsMax, 50 * 2 ** Math.min(failures, 10)));
      }
    }
  }

  async function release(): Promise<void> {
    const held = lease.session;
    if (held === undefined) return;
    try {
      await turn(0);
      await lease.giveBack(held);
    } catch (error) {
      // The lease ends it instead.
      onEvent({ type: "failed", error });
    }
    lease.forget();
    // What arrives from now on belongs to no session: another relay may have its lane.
    sender.sessionLost();
  }

  /** The lease goes on meanwhile, and what arrived is written: a slow broker must not look like a process that ended. */
  async function drain(drainMs: number): Promise<void> {
    const endMs = nowMs() + drainMs;
    for (let leftMs = drainMs; leftMs > 0; leftMs = endMs - nowMs()) {
      if (await signal.until(() => flights.inFlight === 0, Math.min(leftMs, leaseMs / 3))) return;
      try {
        await turn(0);
      } catch (error) {
        onEvent({ type: "failed", error });
      }
    }
  }

  async function begin(): Promise<void> {
    if (running !== undefined) return;
    stopping = false;
    await prepare();
    await renewSession();
    const unlisten = wake.listen(woken);
    running = (async () => {
      try {
        await loop();
      } finally {
        await unlisten();
      }
    })();
  }

  async function end(drainMs: number): Promise<void> {
    stopping = true;
    signal.raise();
    await running;
    running = undefined;
    flights.dropWaiting();
    await drain(drainMs);
    await release();
  }

  async function tickOnce(): Promise<RelayTickResult> {
    if (running !== undefined) throw new IchidoError("usage-invalid", "tick() is for a relay that was not started");
    stopping = false;
    await prepare();
    const { sent, rejected, dead } = outcomes.counts;
    await renewSession();
    readings.rescan();
    let found = await turn(batch, [], batch);
    while (!stopping && flights.heads.size === 0 && sender.beyond !== undefined) found = await turn(batch, [], batch);
    await sendSuspects();
    while (!stopping && (flights.heads.size > 0 || flights.inFlight > 0)) {
      sender.sendFree();
      if (flights.inFlight === 0 && flights.heads.size > 0) break;
      await signal.until(() => flights.inFlight === 0 || stopping);
    }
    flights.dropWaiting();
    await turn(0);
    return {
      sent: outcomes.counts.sent - sent,
      rejected: outcomes.counts.rejected - rejected,
      dead: outcomes.counts.dead - dead,
      more: found === batch,
    };
  }

  /** One after the other: two at once would write and forget each other's outcomes. */
  function inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    const next = last.then(work);
    last = next.catch(() => undefined);
    return next;
  }

  return {
    start: () => inTurn(begin),
    stop(stopOptions = {}) {
      knownOptions("relay.stop", stopOptions, { drainMs: true });
      const { drainMs = drainMsDefault } = stopOptions;
      stopping = true;
      signal.raise();
      return inTurn(() => end(drainMs));
    },
    tick() {
      // A timer that is faster than the broker joins the pass under way.
      ticking ??= inTurn(tickOnce).finally(() => {
        ticking = undefined;
      });
      return ticking;
    },
    health: () => ({
      running: running !== undefined,
      lanes: lease.lanes.length,
      held: flights.size,
      inFlight: flights.inFlight,
      unmarked: sender.unmarked.size,
      setAside: sender.setAside,
      routes: routes.health(),
      lastError,
    }),
  };
}
