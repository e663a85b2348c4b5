/**
 * From the relay's hands to the brokers: decides which events may leave, and makes outcomes for the next turn from what
 * publishers answer. Suspects of a crash leave in small batches only, each after the database knows which events are in
 * it.
 */
import { doubledMs, upTo } from "../core/contract/jitter.ts";
import type { Publisher, Published } from "../brokers/broker.ts";
import type { OutboxEvent } from "./database.ts";
import { chainOf, type Flights } from "./flights.ts";
import type { Outcomes } from "./outcomes.ts";
import type { ResolvedRelayOptions } from "./relay-options.ts";
import type { Passes, Routes } from "./routes.ts";
import { suspectBatchSize } from "./session.ts";
import { createSetbacks } from "./setbacks.ts";
import type { ResolvedRule, Topics } from "./topics.ts";
import { errorText, type Outcome } from "./turn.ts";

/** How soon an event without a route is looked at again. */
const unroutedMs = 30_000;
/** Events that were sent while the session was lost, so that they need not be sent again. */
const unmarkedMax = 10_000;
/** A receiver that asks for more gets an event once a day. */
const delayMsMax = 86_400_000;

export interface Sender {
  /** Sent by a session that was lost, and not marked yet. */
  readonly unmarked: ReadonlySet<number>;
  /** How many events wait alone because they find no way although others do. */
  readonly setAside: number;
  /** Lets everything leave that may. Suspects stay. */
  sendFree(): void;
  /** The next suspects that may leave together; empty when there are none. */
  suspectBatch(): readonly OutboxEvent[];
  send(event: OutboxEvent): void;
  /** The session was lost: what was sent is remembered, the rest is another relay's matter. */
  sessionLost(): void;
  /** Whether an event of a later session was sent by an earlier one; it is marked then. */
  markSent(events: readonly OutboxEvent[]): readonly OutboxEvent[];
  /**
   * Which events of a reading to hold. Where there is more to read, those are left out that were tried in vain by ways
   * that are still shut, with what stands behind them: an event behind all that may pass.
   */
  sift(
    events: readonly OutboxEvent[],
    reading: { readonly last: number; readonly isFull: boolean },
  ): readonly OutboxEvent[];
  /** Where the next reading begins, because all before it was tried in vain. */
  readonly beyond: number | undefined;
}

type Unavailable = Extract<Published, { readonly outcome: "unavailable" }>;

interface Flight {
  readonly rule: ResolvedRule;
  /** The session, by its number. */
  readonly sentIn: number;
  /** How many had passed when it left. */
  readonly left: Passes;
}

export function createSender(parts: {
  readonly options: ResolvedRelayOptions;
  readonly topics: Topics;
  readonly routes: Routes;
  readonly flights: Flights;
  readonly outcomes: Outcomes;
  /** Whether the lease still covers another event. */
  readonly covered: () => boolean;
  readonly changed: () => void;
}): Sender {
  const { options, topics, routes, flights, outcomes, covered, changed } = parts;
  const { environment, onEvent } = options;
  const unmarked = new Set<number>();
  const setbacks = createSetbacks();

  /** The oldest goes first: by now another relay has most likely marked it. */
  function remember(seq: number): void {
    unmarked.add(seq);
    const [oldest] = unmarked;
    if (unmarked.size > unmarkedMax && oldest !== undefined) unmarked.delete(oldest);
  }
  let generation = 0;
  let beyond: number | undefined;

  const waitsForWay = ({ message }: OutboxEvent): boolean => {
    const rule = topics.find(message.topic);
    return rule !== undefined && routes.isShut(rule);
  };

  function backoff(attempts: number): number {
    return upTo(environment, doubledMs(options.backoffMs, attempts, options.backoffMsMax));
  }

  /** The delay that a publisher names goes into a statement: one that is no time must not stop all other events. */
  function wait(delayMs: number): number {
    return Number.isFinite(delayMs) ? Math.min(Math.max(0, Math.ceil(delayMs)), delayMsMax) : options.backoffMs;
  }

  /** The event is done with for now, and what stands behind it is read again. */
  function end(event: OutboxEvent, outcome?: Outcome): void {
    if (outcome !== undefined) outcomes.add(outcome);
    flights.arrive(event);
    flights.dropChain(event);
  }

  /** Whether it may leave; if not, it is dealt with. */
  function wayFor(event: OutboxEvent): { readonly rule: ResolvedRule; readonly publisher: Publisher } | undefined {
    const { topic, id } = event.message;
    const rule = topics.find(topic);
    const publisher = rule === undefined ? undefined : routes.publisherOf(rule);
    if (event.unreadable !== undefined) {
      const dead = { reason: "unreadable", error: errorText(event.unreadable) } as const;
      flights.depart(event);
      end(event, { kind: "dead", event, ...dead, parks: rule?.onDead !== "skip" });
      onEvent({ type: "dead", id, topic, ...dead });
      return undefined;
    }
    if (rule === undefined || publisher === undefined) {
      flights.depart(event);
      end(event, { kind: "postponed", event, error: `no route for topic ${topic}`, delayMs: unroutedMs });
      onEvent({ type: "unrouted", id, topic });
      return undefined;
    }
    routes.see(topic, rule);
    const may = routes.mayLeave(rule);
    if (may === "paused") flights.dropChain(event);
    return may === "yes" ? { rule, publisher } : undefined;
  }

  function reject(event: OutboxEvent, rule: ResolvedRule, error: Error): void {
    const { id, topic } = event.message;
    const counted = { ...event, attempts: event.attempts + 1 };
    onEvent({ type: "rejected", id, topic, attempt: counted.attempts, error });
    if (counted.attempts < rule.attemptsMax) {
      outcomes.add({ kind: "rejected", event: counted, error: errorText(error), delayMs: backoff(counted.attempts) });
    } else {
      const parks = rule.onDead === "park-key";
      outcomes.add({ kind: "dead", event: counted, reason: "rejected", error: errorText(error), parks });
      onEvent({ type: "dead", id, topic, reason: "rejected", error: errorText(error) });
    }
  }

  /** The event found no way: all events of that way wait, or, where others passed meanwhile, this one by itself. */
  function turnBack(event: OutboxEvent, { rule, sentIn, left }: Flight, fault: Unavailable): void {
    const { id, topic } = event.message;
    const { error, scope, retryAfterMs = 0 } = fault;
    const alone = setbacks.note(event.seq, left, routes.passesOf(rule), scope);
    if (alone === 0) {
      if (!routes.unavailable(rule, fault)) return;
      beyond = undefined;
      onEvent({ type: "paused", route: rule.to, topic, error });
      return;
    }
    const delayMs = Math.max(backoff(alone), wait(retryAfterMs));
    if (sentIn === generation) outcomes.add({ kind: "postponed", event, error: errorText(error), delayMs });
    onEvent({ type: "set-aside", id, topic, error, delayMs });
  }

  function settle(event: OutboxEvent, flight: Flight, published: Published, tookMs: number): void {
    const { rule, sentIn } = flight;
    const { id, topic } = event.message;
    routes.arrived(rule);
    if (published.outcome === "unavailable") {
      turnBack(event, flight, published);
      end(event);
      return;
    }
    setbacks.forget(event.seq);
    if (routes.passed(rule)) onEvent({ type: "resumed", route: rule.to, topic });
    if (published.outcome === "later") {
      const delayMs = wait(published.delayMs);
      const postponed = { kind: "postponed", event, error: errorText(published.error), delayMs } as const;
      end(event, sentIn === generation ? postponed : undefined);
      return;
    }
    if (published.outcome === "sent") {
      onEvent({ type: "sent", id, topic, tookMs });
      if (sentIn === generation) outcomes.add({ kind: "sent", event });
      else remember(event.seq);
      flights.arrive(event);
      return;
    }
    if (sentIn === generation) reject(event, rule, published.error);
    // Also when a lost session may not count it: the event will be read again, and what stands behind it must not pass.
    end(event);
  }

  function launch(event: OutboxEvent, way: { readonly rule: ResolvedRule; readonly publisher: Publisher }): void {
    const { rule, publisher } = way;
    const flight: Flight = { rule, sentIn: generation, left: routes.passesOf(rule) };
    const startMs = environment.monotonicMs();
    const { topic, traceparent } = event.message;
    const attributes = { "messaging.destination.name": topic, "outbox.route": rule.to };
    const span = options.tracing?.begin("outbox.publish", { attributes, kind: "producer", parent: traceparent });
    flights.depart(event);
    routes.left(rule);
    const publish = async (): Promise<Published> => {
      try {
        const sending = (): Promise<Published | undefined> => publisher.publish(event.message);
        const published = await (span === undefined ? sending() : span.within(sending));
        if (typeof published?.outcome === "string") return published;
        return { outcome: "unavailable", error: new TypeError(`publisher ${rule.to} did not say what became of it`) };
      } catch (error) {
        return { outcome: "unavailable", error: error instanceof Error ? error : new Error(String(error)) };
      }
    };
    void publish().then((published) => {
      span?.end({ "outbox.outcome": published.outcome }, "error" in published ? published : undefined);
      settle(event, flight, published, environment.monotonicMs() - startMs);
      changed();
    });
  }

  const suspects = (): OutboxEvent[] => [...flights.heads].filter(({ crashes }) => crashes > 0);

  return {
    unmarked,
    get setAside() {
      return setbacks.alone;
    },
    sendFree() {
      // While a suspect waits, nothing else leaves: it needs the relay for itself.
      if (flights.heads.size === 0 || suspects().length > 0) return;
      for (const event of setbacks.inOrder(flights.heads)) {
        if (flights.inFlight >= options.concurrency || !covered()) return;
        // A chain that was dropped meanwhile took this head along.
        const way = flights.heads.has(event) ? wayFor(event) : undefined;
        if (way !== undefined) launch(event, way);
      }
    },
    suspectBatch() {
      if (flights.inFlight > 0) return [];
      const all = suspects().filter((event) => {
        const rule = topics.find(event.message.topic);
        if (rule === undefined) return true;
        routes.see(event.message.topic, rule);
        if (routes.mayLeave(rule) === "yes") return true;
        flights.dropChain(event);
        return false;
      });
      const [first] = all.toSorted((one, other) => other.crashes - one.crashes);
      if (first === undefined) return [];
      return all
        .filter(({ crashes }) => crashes === first.crashes)
        .slice(0, Math.min(options.concurrency, suspectBatchSize(first.crashes)));
    },
    send(event) {
      const way = flights.heads.has(event) ? wayFor(event) : undefined;
      if (way !== undefined) launch(event, way);
    },
    sessionLost() {
      generation += 1;
      for (const { kind, event } of outcomes.takeAll()) if (kind === "sent") remember(event.seq);
      flights.dropWaiting();
    },
    get beyond() {
      return beyond;
    },
    sift(events, { last, isFull }) {
      const stuck = events.filter((event) => setbacks.has(event.seq) && waitsForWay(event));
      if (isFull && stuck.length > 0) {
        const chains = new Set(stuck.map(chainOf));
        const rest = events.filter((event) => !chains.has(chainOf(event)));
        beyond = rest.some(waitsForWay) ? undefined : last;
        return rest;
      }
      const isOver = !isFull && beyond !== undefined;
      if (isOver && stuck.length === events.filter(waitsForWay).length) setbacks.nextRound();
      beyond = undefined;
      return events;
    },
    markSent(events) {
      return events.filter((event) => {
        if (!unmarked.delete(event.seq)) return true;
        outcomes.add({ kind: "sent", event });
        return false;
      });
    },
  };
}
