/** A history of events as data: sizes, waits, fault mix and what happens when, all from one seed. */
import { createRandom, mixed, type Random } from "../random.ts";
import { apartOf, type Apart, type ItemApart } from "./plan-apart.ts";

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
  /** Of events: they find no way, while others may. */
  readonly stuck: number;
  /** Of handlers: the first so many runs of an event fail, for a share of the events. */
  readonly fails: number;
}

type UsualItem = { readonly atMs: number } & (
  | { readonly kind: "add"; readonly key: number; readonly events: number }
  | { readonly kind: "kill"; readonly place: number; readonly awayMs: number }
  | { readonly kind: "stop"; readonly place: number; readonly awayMs: number; readonly drainMs: number }
  | { readonly kind: "freeze"; readonly place: number; readonly forMs: number; readonly first: "reply" | "timer" }
  | { readonly kind: "database-away"; readonly forMs: number }
  | { readonly kind: "broker-away"; readonly forMs: number }
  /** One process alone does not reach the database. */
  | { readonly kind: "cut-off"; readonly place: number; readonly forMs: number }
  | { readonly kind: "deliver-again"; readonly which: number }
  /**
   * Right after this effect, this effect of a replay, or this letter was committed: whoever did it is cut off from the database, or
   * dies at once or a moment later, alone or with all consumers.
   */
  | {
      readonly kind: "strike";
      readonly of: "all" | "replays" | "letters";
      readonly which: number;
      readonly cutMs: number;
      readonly diesMs: number | undefined;
      readonly all: boolean;
      readonly awayMs: number;
    }
  | { readonly kind: "decide"; readonly which: number; readonly discards: boolean }
  /** A moment after this lease was granted: whoever has it stands still, most often until it is over. */
  | {
      readonly kind: "stall";
      readonly which: number;
      readonly delayMs: number;
      readonly forMs: number;
      readonly first: "reply" | "timer";
    }
);

export type EventsItem = UsualItem | ItemApart;

export interface EventsPlan extends Omit<Apart, "items"> {
  readonly seed: number;
  readonly spanMs: number;
  readonly relays: number;
  readonly consumers: number;
  readonly handlers: number;
  /** A further handler under a lease, by what the provider does that it calls. */
  readonly leased: "none" | "honours" | "asked";
  readonly runLeaseMs: number;
  /** Others use the store of the leases as well. */
  readonly isShared: boolean;
  readonly partitions: number;
  readonly leaseMs: number;
  readonly batch: number;
  readonly attemptsMax: number;
  readonly onDead: "park-key" | "skip";
  readonly relayCrashesMax: number;
  readonly retentionMs: number;
  readonly redeliveryMsMax: number;
  readonly ackWaitMs: number | undefined;
  /** The broker waits no longer for whoever says that it is still at work. */
  readonly isHeedless: boolean;
  /** A copy of a letter comes when somebody has it run again. */
  readonly copies: boolean;
  readonly handlerAttemptsMax: number;
  readonly crashesMax: number;
  readonly parkAfterMs: number;
  readonly inPlaceMs: number;
  readonly waitMs: number;
  readonly callMs: number;
  /** How long the database's lock is waited for. */
  readonly busyMs: number;
  readonly sweepEveryMs: number | undefined;
  /** Within this time of a new letter somebody decides about it. */
  readonly eagerMs: number | undefined;
  readonly replayMs: number;
  readonly backoffMs: number;
  readonly handlerMsMax: number;
  /** How far wall clocks are off. */
  readonly skewMs: number;
  readonly faults: EventsFaults;
  readonly items: readonly EventsItem[];
}

type Kind = Exclude<UsualItem["kind"], "stall">;

/** Each seed switches some faults off and turns others up. */
function share(random: Random, most: number): number {
  if (random.chance(0.45)) return 0;
  return most * (random.chance(0.25) ? 1 : random.between(0, 0.35));
}

/** Drawn apart: most histories are without it. */
function stuckOf(random: Random): number {
  return random.chance(0.7) ? 0 : random.between(0.2, 0.7);
}

/** Drawn apart. */
function stallsOf(
  random: Random,
  { leased, runLeaseMs }: Pick<EventsPlan, "leased" | "runLeaseMs">,
): readonly EventsItem[] {
  if (leased === "none" || random.chance(0.5)) return [];
  return Array.from({ length: random.int(1, 3) }, () => ({
    kind: "stall",
    atMs: 0,
    which: random.int(0, 14),
    delayMs: random.between(0.5, 12),
    forMs: runLeaseMs * random.between(0.6, 3),
    first: random.pick(["reply", "timer"] as const),
  }));
}

/** Drawn apart: handlers that outlast the broker's patience by far, so that copies of what is at work pile up. */
function slownessOf(
  random: Random,
): Partial<Pick<EventsPlan, "consumers" | "ackWaitMs" | "isHeedless" | "handlerMsMax" | "inPlaceMs">> {
  if (random.chance(0.85)) return {};
  return {
    consumers: random.int(2, 4),
    ackWaitMs: random.int(200, 700),
    isHeedless: true,
    handlerMsMax: random.between(2_000, 8_000),
    inPlaceMs: random.int(1_000, 5_000),
  };
}

/** Whoever wrote a letter and does not hear of it is most often cut off: the letter is decided about meanwhile. */
function blowOf(random: Random, ofLetter: boolean): Pick<Extract<EventsItem, { kind: "strike" }>, "cutMs" | "diesMs"> {
  const momentMs = random.chance(0.3) ? 0 : random.between(2, 60);
  const cutMs = random.between(20, 1_500);
  if (!random.chance(ofLetter ? 0.8 : 0.4)) return { cutMs: 0, diesMs: momentMs };
  return { cutMs, diesMs: random.chance(0.6) && !ofLetter ? Math.min(cutMs, random.between(5, 400)) : undefined };
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
    case "cut-off":
      return { kind, atMs, place, forMs: shortMs };
    case "strike": {
      const of = random.pick(["all", "replays", "replays", "letters"] as const);
      const isLong = random.chance(of === "replays" ? 0.8 : 0.5);
      const awayMs = isLong ? Math.min(40_000, retentionMs * random.between(0.8, 1.5)) : shortMs;
      const which = random.int(0, of === "all" ? 9 : 1);
      return { kind, atMs, of, which, ...blowOf(random, of === "letters"), all: random.chance(0.7), awayMs };
    }
    case "decide":
      return { kind, atMs, which: random.int(0, 99), discards: random.chance(0.25) };
  }
}

export function eventsPlanOf(seed: number): EventsPlan {
  const random = createRandom(seed, 4_242);
  const relays = random.chance(0.5) ? 1 : 2;
  const consumers = random.int(1, 3);
  const spanMs = random.chance(0.7) ? random.between(5_000, 15_000) : random.between(15_000, 22_000);
  // Few values: they stand in the text of statements, which are prepared once.
  const retentionMs = random.chance(0.6) ? random.pick([5_000, 7_000, 10_000]) : random.pick([15_000, 30_000, 60_000]);
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
    strike: random.chance(0.4) ? 0 : random.int(1, 3),
    decide: random.chance(0.3) ? 0 : random.int(2, 8),
    "cut-off": random.chance(0.7) ? 0 : random.int(1, 3),
  };
  const isHeedless = random.chance(0.3);
  const leased = random.pick(["none", "honours", "asked"] as const);
  const items: EventsItem[] = [];
  for (const [kind, count] of Object.entries(times)) {
    for (let each = 0; each < count; each += 1) {
      const atMs = kind === "add" ? random.between(100, spanMs * 0.6) : random.between(300, spanMs);
      items.push(itemOf(random, kind as Kind, atMs, relays + consumers, retentionMs));
    }
  }
  const plan: Omit<EventsPlan, "apart"> = {
    seed,
    spanMs,
    relays,
    consumers,
    handlers: leased === "none" ? random.int(1, 2) : random.int(0, 1),
    leased,
    runLeaseMs: random.pick([1_000, 2_000, 4_000]),
    isShared: random.chance(0.7),
    partitions: random.int(1, 2),
    leaseMs: random.pick([1_200, 2_000, 3_000, 4_500, 6_000]),
    batch: random.int(2, 8),
    attemptsMax: random.int(1, 4),
    onDead: random.pick(["park-key", "skip"] as const),
    relayCrashesMax: random.int(2, 5),
    retentionMs,
    redeliveryMsMax: random.int(1_000, retentionMs - 1),
    ackWaitMs: isHeedless ? random.int(300, 1_500) : random.chance(0.3) ? undefined : random.int(500, 4_000),
    isHeedless,
    copies: random.chance(0.4),
    handlerAttemptsMax: random.int(1, 4),
    crashesMax: random.int(1, 3),
    inPlaceMs: random.int(300, 4_000),
    waitMs: random.int(300, 2_000),
    callMs,
    busyMs: random.int(50, callMs),
    sweepEveryMs: random.chance(0.3) ? undefined : random.int(600, 5_000),
    eagerMs: random.chance(0.4) ? undefined : random.pick([20, 300, 2_000]),
    replayMs: random.int(500, 4_000),
    backoffMs: random.chance(0.4) ? random.int(1, 8) : random.int(20, 200),
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
      stuck: stuckOf(createRandom(seed, 31)),
    },
    parkAfterMs: [1, 300, 5_000][mixed(seed, 41) % 3] ?? 1,
    ...slownessOf(createRandom(seed, 47)),
    items: items.toSorted((one, other) => one.atMs - other.atMs),
  };
  const { fails = plan.faults.fails, ...apart } = apartOf(seed, plan);
  const all = [...plan.items, ...stallsOf(createRandom(seed, 43), plan), ...apart.items];
  return { ...plan, ...apart, faults: { ...plan.faults, fails }, items: all };
}
