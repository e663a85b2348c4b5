/** A history of events as data: sizes, waits, fault mix and what happens when, all from one seed. */
import { createRandom, type Random } from "../random.ts";

export interface EventsFaults {
  /** Of messages to the database and back, shares. */
  readonly before: number;
  readonly after: number;
  readonly slowThere: number;
  readonly slowBack: number;
  readonly dies: number;
  /** Of publishing. */
  readonly refuses: number;
  readonly later: number;
  /** Of handlers: the first so many runs of an event fail, for a share of the events. */
  readonly fails: number;
}

export type EventsItem = { readonly atMs: number } & (
  | { readonly kind: "add"; readonly key: number; readonly events: number }
  | { readonly kind: "kill"; readonly place: number; readonly awayMs: number }
  | { readonly kind: "stop"; readonly place: number; readonly awayMs: number; readonly drainMs: number }
  | { readonly kind: "freeze"; readonly place: number; readonly forMs: number; readonly first: "reply" | "timer" }
  | { readonly kind: "database-away"; readonly forMs: number }
  | { readonly kind: "broker-away"; readonly forMs: number }
  | { readonly kind: "deliver-again"; readonly which: number }
  /** Right after this effect was committed: whoever did it dies, alone or with all consumers. */
  | { readonly kind: "strike"; readonly effect: number; readonly all: boolean; readonly awayMs: number }
  | { readonly kind: "decide"; readonly which: number; readonly discards: boolean }
);

export interface EventsPlan {
  readonly seed: number;
  readonly spanMs: number;
  readonly relays: number;
  readonly consumers: number;
  readonly handlers: number;
  readonly partitions: number;
  readonly leaseMs: number;
  readonly batch: number;
  readonly attemptsMax: number;
  readonly onDead: "park-key" | "skip";
  readonly relayCrashesMax: number;
  readonly retentionMs: number;
  readonly redeliveryMsMax: number;
  readonly ackWaitMs: number | undefined;
  readonly handlerAttemptsMax: number;
  readonly crashesMax: number;
  readonly inPlaceMs: number;
  readonly waitMs: number;
  readonly callMs: number;
  /** How long the database's lock is waited for. */
  readonly busyMs: number;
  readonly sweepEveryMs: number | undefined;
  readonly replayMs: number;
  readonly backoffMs: number;
  readonly handlerMsMax: number;
  /** How far wall clocks are off. */
  readonly skewMs: number;
  readonly faults: EventsFaults;
  readonly items: readonly EventsItem[];
}

type Kind = EventsItem["kind"];

/** Each seed switches some faults off and turns others up. */
function share(random: Random, most: number): number {
  if (random.chance(0.45)) return 0;
  return most * (random.chance(0.25) ? 1 : random.between(0, 0.35));
}

function itemOf(random: Random, kind: Kind, atMs: number, places: number, retentionMs: number): EventsItem {
  const place = random.int(0, places - 1);
  const shortMs = random.between(50, 1_500);
  const longMs = random.between(500, 12_000);
  const forMs = random.chance(0.6) ? shortMs : longMs;
  switch (kind) {
    case "add":
      return { kind, atMs, key: random.int(0, 2), events: random.chance(0.8) ? 1 : random.int(2, 3) };
    case "kill":
      return { kind, atMs, place, awayMs: forMs };
    case "stop":
      return { kind, atMs, place, awayMs: forMs, drainMs: random.int(1, 2_000) };
    case "freeze":
      return { kind, atMs, place, forMs, first: random.pick(["reply", "timer"] as const) };
    case "database-away":
    case "broker-away":
      return { kind, atMs, forMs };
    case "deliver-again":
      return { kind, atMs, which: random.int(0, 99) };
    case "strike": {
      const awayMs = random.chance(0.5) ? shortMs : retentionMs * random.between(0.8, 1.5);
      return { kind, atMs, effect: random.int(0, 9), all: random.chance(0.6), awayMs: Math.min(20_000, awayMs) };
    }
    case "decide":
      return { kind, atMs, which: random.int(0, 99), discards: random.chance(0.25) };
  }
}

export function eventsPlanOf(seed: number): EventsPlan {
  const random = createRandom(seed, 4_242);
  const relays = random.chance(0.5) ? 1 : 2;
  const consumers = random.int(1, 3);
  const spanMs = random.between(6_000, 25_000);
  const retentionMs = random.chance(0.6) ? random.int(5_000, 10_000) : random.int(10_000, 60_000);
  // What a call and two clocks may add up to stays below the tenth of the retention that rows are kept longer.
  const callMs = random.int(100, Math.min(2_500, Math.floor(retentionMs * 0.035)));
  const times: Readonly<Record<Kind, number>> = {
    add: random.int(2, 7),
    kill: random.chance(0.5) ? 0 : random.int(1, 5),
    stop: random.chance(0.7) ? 0 : random.int(1, 2),
    freeze: random.chance(0.5) ? 0 : random.int(1, 4),
    "database-away": random.chance(0.6) ? 0 : random.int(1, 3),
    "broker-away": random.chance(0.7) ? 0 : random.int(1, 2),
    "deliver-again": random.chance(0.5) ? 0 : random.int(1, 6),
    strike: random.chance(0.5) ? 0 : random.int(1, 2),
    decide: random.chance(0.3) ? 0 : random.int(2, 8),
  };
  const items: EventsItem[] = [];
  for (const [kind, count] of Object.entries(times)) {
    for (let each = 0; each < count; each += 1) {
      const atMs = kind === "add" ? random.between(100, spanMs * 0.6) : random.between(300, spanMs);
      items.push(itemOf(random, kind as Kind, atMs, relays + consumers, retentionMs));
    }
  }
  return {
    seed,
    spanMs,
    relays,
    consumers,
    handlers: random.int(1, 2),
    partitions: random.int(1, 2),
    leaseMs: random.int(800, 3_000),
    batch: random.int(2, 8),
    attemptsMax: random.int(1, 4),
    onDead: random.pick(["park-key", "skip"] as const),
    relayCrashesMax: random.int(2, 5),
    retentionMs,
    redeliveryMsMax: random.int(1_000, retentionMs - 1),
    ackWaitMs: random.chance(0.3) ? undefined : random.int(500, 4_000),
    handlerAttemptsMax: random.int(1, 4),
    crashesMax: random.int(1, 3),
    inPlaceMs: random.int(300, 4_000),
    waitMs: random.int(300, 2_000),
    callMs,
    busyMs: random.int(50, callMs),
    sweepEveryMs: random.chance(0.3) ? undefined : random.int(400, 3_000),
    replayMs: random.int(400, 2_500),
    backoffMs: random.int(20, 200),
    handlerMsMax: random.chance(0.5) ? 2 : random.between(2, 3_000),
    skewMs: random.chance(0.5) ? 0 : Math.floor(retentionMs * 0.02),
    faults: {
      before: share(random, 0.06),
      after: share(random, 0.06),
      slowThere: share(random, 0.04),
      slowBack: share(random, 0.04),
      dies: share(random, 0.04),
      refuses: share(random, 0.4),
      later: share(random, 0.2),
      fails: share(random, 0.8),
    },
    items: items.toSorted((one, other) => one.atMs - other.atMs),
  };
}
