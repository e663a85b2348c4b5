/** Committed events against the ledgers of their handlers, when the faults are over. */
import type { Charge } from "../../packages/ichido/src/testing/fake-provider.ts";
import type { Violation } from "../history.ts";
import type { EffectRow, EventRow } from "./tables.ts";
import { handlersOf, orderOf, type HandlerName } from "./topics.ts";

/** What the desk reads off the store. */
export interface EventsTold {
  /** Those that were committed, in the order in which those of a subject were. */
  readonly events: readonly EventRow[];
  readonly handled: readonly EffectRow[];
  /** `handler id` of every letter of the inbox there ever was. */
  readonly letters: readonly string[];
  readonly waiting: {
    readonly pending: number;
    readonly outboxDead: number;
    readonly parked: number;
    readonly inboxDead: number;
  };
}

export interface EventLedgers {
  readonly told: EventsTold;
  readonly honest: readonly Charge[];
  readonly deaf: readonly Charge[];
}

/** The ids of what each handler did, in the order in which it did it. */
function effectsBy({ told, honest, deaf }: EventLedgers): Readonly<Record<HandlerName, readonly string[]>> {
  const idOf = new Map(told.events.map(({ number, id }) => [number, id]));
  const ids = (charges: readonly Charge[]): readonly string[] =>
    charges.map(({ amount }) => idOf.get(amount) ?? `a charge of ${amount}`);
  return { rows: told.handled.map(({ id }) => id), bank: ids(honest), hold: ids(deaf) };
}

/** How many effects are still to come: each event once for each handler that wants it. */
export function missingIn(ledgers: EventLedgers): number {
  const effects = effectsBy(ledgers);
  const sets = { rows: new Set(effects.rows), bank: new Set(effects.bank), hold: new Set(effects.hold) };
  return ledgers.told.events.reduce(
    (sum, { id, topic }) => sum + handlersOf(topic).filter((handler) => !sets[handler].has(id)).length,
    0,
  );
}

export interface Judged {
  readonly effects: number;
  readonly violations: readonly Violation[];
}

export function judgeEvents(ledgers: EventLedgers): Judged {
  const { told } = ledgers;
  const violations: Violation[] = [];
  const violate = (invariant: string, detail: string): void => void violations.push({ invariant, detail });
  const known = new Map(told.events.map((event, place) => [event.id, { ...event, place }]));
  const replayed = new Set(told.letters);
  let count = 0;
  for (const [handler, ids] of Object.entries(effectsBy(ledgers))) {
    const times = new Map<string, number>();
    /** The last one of each order and subject, by its place. */
    const last = new Map<string, { readonly id: string; readonly place: number }>();
    for (const id of ids) {
      count += 1;
      times.set(id, (times.get(id) ?? 0) + 1);
      const event = known.get(id);
      if (event === undefined) {
        violate("effect-unasked", `${handler} of ${id}: its transaction was never committed`);
        continue;
      }
      const order = orderOf(event.topic);
      if (order === undefined || times.get(id) !== 1 || replayed.has(`${handler} ${id}`)) continue;
      const line = `${order} ${event.subject}`;
      const before = last.get(line);
      if (before !== undefined && before.place > event.place)
        violate("order", `${handler} of ${line}: ${id} (${event.place}) after ${before.id} (${before.place})`);
      if (before === undefined || before.place < event.place) last.set(line, { id, place: event.place });
    }
    for (const [id, often] of times) {
      if (often > 1) violate("effect-doubled", `${handler} of ${id} (${known.get(id)?.topic}): ${often} times`);
    }
    for (const { id, topic } of told.events) {
      if (handlersOf(topic).some((name) => name === handler) && !times.has(id))
        violate("lost", `${handler} of ${id} (${topic})`);
    }
  }
  for (const [what, left] of Object.entries(told.waiting)) if (left > 0) violate("stuck", `${left} ${what} in the end`);
  return { effects: count, violations };
}
