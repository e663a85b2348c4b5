/**
 * From the relay's hands to the brokers: decides which events may leave, and turns what publishers say into outcomes for
 * the next turn. Suspects of a crash leave in small company only, after the database knows who is in it.
 */
import type { Publisher, Published } from "../brokers/broker.ts";
import { fraction } from "../core/environment.ts";
import type { Waiting } from "./database.ts";
import type { Flights } from "./flights.ts";
import type { ResolvedRelayOptions } from "./relay-options.ts";
import type { Routes } from "./routes.ts";
import { companyOf } from "./session.ts";
import type { ResolvedRule, Topics } from "./topics.ts";
import { errorText, type Outcome } from "./turn.ts";

/** How soon an event without a route is looked at again. */
const unroutedMs = 30_000;
/** Events that were sent while the session was lost, so that they need not be sent again. */
const unmarkedMax = 10_000;
const exponentMax = 30;
/** A receiver that asks for more gets an event once a day. */
const delayMsMax = 86_400_000;

export interface Sender {
  readonly outcomes: Outcome[];
  /** Sent by a session that was lost, and not marked yet. */
  readonly unmarked: ReadonlySet<number>;
  /** Lets everything leave that may. Suspects stay. */
  sendFree(): void;
  /** The next suspects that may leave together; empty when there are none. */
  company(): readonly Waiting[];
  send(event: Waiting): void;
  /** The session was lost: what was sent is remembered, the rest is another relay's matter. */
  sessionLost(): void;
  /** Whether an event of a later session was sent by an earlier one; it is marked then. */
  markSent(events: readonly Waiting[]): readonly Waiting[];
}

export function createSender(parts: {
  readonly options: ResolvedRelayOptions;
  readonly topics: Topics;
  readonly routes: Routes;
  readonly flights: Flights;
  /** Whether the lease still covers another event. */
  readonly covered: () => boolean;
  readonly changed: () => void;
}): Sender {
  const { options, topics, routes, flights, covered, changed } = parts;
  const { environment, onEvent } = options;
  const outcomes: Outcome[] = [];
  const unmarked = new Set<number>();

  /** The oldest goes first: by now another relay has most likely marked it. */
  function remember(seq: number): void {
    unmarked.add(seq);
    const [oldest] = unmarked;
    if (unmarked.size > unmarkedMax && oldest !== undefined) unmarked.delete(oldest);
  }
  let generation = 0;

  function backoff(attempts: number): number {
    const [first, most] = options.backoffMs;
    return Math.ceil(fraction(environment) * Math.min(most, first * 2 ** Math.min(attempts - 1, exponentMax)));
  }

  /** A publisher's word goes into a statement: one that is no time must not stop all others. */
  function wait(delayMs: number): number {
    return Number.isFinite(delayMs) ? Math.min(Math.max(0, Math.ceil(delayMs)), delayMsMax) : options.backoffMs[0];
  }

  /** Whether it may leave; if not, it is dealt with. */
  function wayFor(event: Waiting): { readonly rule: ResolvedRule; readonly publisher: Publisher } | undefined {
    const { topic, id } = event.message;
    const rule = topics.find(topic);
    const publisher = rule === undefined ? undefined : routes.publisherOf(rule);
    if (event.unreadable !== undefined) {
      const dead = { reason: "unreadable", error: errorText(event.unreadable) } as const;
      flights.depart(event);
      outcomes.push({ kind: "dead", event, ...dead, parks: rule?.onDead !== "skip" });
      flights.arrive(event);
      flights.dropChain(event);
      onEvent({ type: "dead", id, topic, ...dead });
      return undefined;
    }
    if (rule === undefined || publisher === undefined) {
      flights.depart(event);
      outcomes.push({ kind: "postponed", event, error: `no route for topic ${topic}`, delayMs: unroutedMs });
      flights.arrive(event);
      flights.dropChain(event);
      onEvent({ type: "unrouted", id, topic });
      return undefined;
    }
    routes.see(topic, rule);
    const may = routes.mayLeave(rule);
    if (may === "paused") flights.dropChain(event);
    return may === "yes" ? { rule, publisher } : undefined;
  }

  function reject(event: Waiting, rule: ResolvedRule, error: Error): void {
    const { id, topic } = event.message;
    const counted = { ...event, attempts: event.attempts + 1 };
    onEvent({ type: "rejected", id, topic, attempt: counted.attempts, error });
    if (counted.attempts < rule.attemptsMax) {
      outcomes.push({ kind: "rejected", event: counted, error: errorText(error), delayMs: backoff(counted.attempts) });
    } else {
      const parks = rule.onDead === "park-key";
      outcomes.push({ kind: "dead", event: counted, reason: "rejected", error: errorText(error), parks });
      onEvent({ type: "dead", id, topic, reason: "rejected", error: errorText(error) });
    }
  }

  function settle(event: Waiting, rule: ResolvedRule, published: Published, tookMs: number, sentIn: number): void {
    const { id, topic } = event.message;
    routes.arrived(rule);
    if (published.outcome === "unavailable") {
      if (routes.unavailable(rule, published))
        onEvent({ type: "paused", route: rule.to, topic, error: published.error });
      flights.arrive(event);
      flights.dropChain(event);
      return;
    }
    if (routes.passed(rule)) onEvent({ type: "resumed", route: rule.to, topic });
    if (published.outcome === "later") {
      if (sentIn === generation)
        outcomes.push({
          kind: "postponed",
          event,
          error: errorText(published.error),
          delayMs: wait(published.delayMs),
        });
      flights.arrive(event);
      flights.dropChain(event);
      return;
    }
    if (published.outcome === "sent") {
      onEvent({ type: "sent", id, topic, tookMs });
      if (sentIn === generation) outcomes.push({ kind: "sent", event });
      else remember(event.seq);
      flights.arrive(event);
      return;
    }
    if (sentIn === generation) reject(event, rule, published.error);
    flights.arrive(event);
    // Also when nobody may count the refusal: it will be read again, and what stands behind it must not pass.
    flights.dropChain(event);
  }

  function launch(event: Waiting, way: { readonly rule: ResolvedRule; readonly publisher: Publisher }): void {
    const { rule, publisher } = way;
    const sentIn = generation;
    const startMs = environment.monotonicMs();
    flights.depart(event);
    routes.left(rule);
    const publish = async (): Promise<Published> => {
      try {
        const published: Published | undefined = await publisher.publish(event.message);
        if (typeof published?.outcome === "string") return published;
        return { outcome: "unavailable", error: new TypeError(`publisher ${rule.to} did not say what became of it`) };
      } catch (error) {
        return { outcome: "unavailable", error: error instanceof Error ? error : new Error(String(error)) };
      }
    };
    void publish().then((published) => {
      settle(event, rule, published, environment.monotonicMs() - startMs, sentIn);
      changed();
    });
  }

  const suspects = (): Waiting[] => [...flights.heads].filter(({ crashes }) => crashes > 0);

  return {
    outcomes,
    unmarked,
    sendFree() {
      // While a suspect waits, nothing else leaves: it needs the relay for itself.
      if (flights.heads.size === 0 || suspects().length > 0) return;
      for (const event of Array.from(flights.heads)) {
        if (flights.inFlight >= options.concurrency || !covered()) return;
        // A chain that was dropped meanwhile took this head along.
        const way = flights.heads.has(event) ? wayFor(event) : undefined;
        if (way !== undefined) launch(event, way);
      }
    },
    company() {
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
        .slice(0, Math.min(options.concurrency, companyOf(first.crashes)));
    },
    send(event) {
      const way = flights.heads.has(event) ? wayFor(event) : undefined;
      if (way !== undefined) launch(event, way);
    },
    sessionLost() {
      generation += 1;
      for (const { kind, event } of outcomes.splice(0)) if (kind === "sent") remember(event.seq);
      flights.dropWaiting();
    },
    markSent(events) {
      return events.filter((event) => {
        if (!unmarked.delete(event.seq)) return true;
        outcomes.push({ kind: "sent", event });
        return false;
      });
    },
  };
}
