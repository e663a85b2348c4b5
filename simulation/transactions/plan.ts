/** What happens in one history of transactions, drawn from its seed before it begins. */
import type { Arrival } from "../machine.ts";
import { createRandom, type Random } from "../random.ts";

/** What the version of a route before this one did, in lease mode. */
export type Former = "charges" | "writes";

/** One route for each key. */
export interface RoutePlan {
  readonly key: string;
  readonly mode: "transaction" | "lease";
  readonly former: Former | undefined;
  readonly onUnknown: "rerun" | "verify" | "hold";
  readonly leaseMs: number;
  /** How long a duplicate waits; absent: as the library has it. */
  readonly waitMs: number | undefined;
}

export type Item =
  | {
      readonly kind: "ask";
      readonly atMs: number;
      readonly key: number;
      readonly place: number;
      readonly tries: number;
      /** Absent: the content that everybody sends. */
      readonly content?: "other";
    }
  | { readonly kind: "kill" | "stop"; readonly atMs: number; readonly place: number; readonly awayMs: number }
  | {
      readonly kind: "freeze";
      readonly atMs: number;
      readonly place: number;
      readonly forMs: number;
      readonly first: Arrival;
    }
  | { readonly kind: "away"; readonly atMs: number; readonly forMs: number }
  /** Somebody keeps a row of the business locked, to the end of the history. */
  | { readonly kind: "lock"; readonly atMs: number };

/** Shares of messages that something strikes. */
export interface Strikes {
  readonly before: number;
  readonly after: number;
  readonly slowThere: number;
  readonly slowBack: number;
  readonly dies: number;
}

/** Shares of handlers and bodies that behave so. */
export interface Habits {
  readonly bare: number;
  readonly own: number;
  readonly throws: number;
  readonly refused: number;
  readonly deferred: number;
  readonly slow: number;
  readonly waits: number;
  readonly hangs: number;
  readonly early: number;
  readonly strays: number;
  readonly verifyFails: number;
}

export interface TransactionsPlan {
  readonly seed: number;
  readonly spanMs: number;
  readonly places: number;
  readonly routes: readonly RoutePlan[];
  /** Until then some processes run the version before. */
  readonly deployedMs: number;
  /**
   * `rows`: a transaction locks what it writes, as in PostgreSQL, and its connection can be taken away from it. `file`: there
   * is one lock, and one connection that nobody can take away, as in SQLite.
   */
  readonly locks: "rows" | "file";
  /** A statement that was refused undoes the whole transaction, as in PostgreSQL. */
  readonly aborts: boolean;
  readonly poolMax: number;
  readonly callMs: number;
  /** The store's own client gives up in time; else answers come however late. */
  readonly givesUp: boolean;
  /** How long a lock of a record is waited for. */
  readonly lockMs: number;
  readonly executionMs: number;
  readonly verifyMs: number;
  readonly replayCache: boolean;
  readonly faults: Strikes;
  /** For BEGIN, COMMIT, ROLLBACK, the question about a commit, and the answer on its transaction, on top. */
  readonly aimed: Strikes;
  readonly habits: Habits;
  readonly items: readonly Item[];
}

type Kind = Item["kind"];

/** Each seed switches some faults off and turns others up. */
function share(random: Random, most: number): number {
  if (random.chance(0.45)) return 0;
  return most * (random.chance(0.25) ? 1 : random.between(0, 0.35));
}

function strikesOf(random: Random, most: number): Strikes {
  return {
    before: share(random, most),
    after: share(random, most),
    slowThere: share(random, most),
    slowBack: share(random, most),
    dies: share(random, most * 0.6),
  };
}

function habitsOf(random: Random, canHang: boolean): Habits {
  return {
    bare: share(random, 0.3),
    own: share(random, 0.8),
    throws: share(random, 0.8),
    refused: share(random, 0.8),
    deferred: share(random, 0.8),
    slow: share(random, 0.6),
    waits: share(random, 0.8),
    hangs: canHang ? share(random, 0.6) : 0,
    early: share(random, 0.8),
    strays: share(random, 0.5),
    verifyFails: share(random, 0.5),
  };
}

function routeOf(random: Random, index: number, formers: boolean): RoutePlan {
  const mode = random.chance(0.6) ? "transaction" : "lease";
  const former = formers && random.chance(0.7) ? random.pick(["charges", "writes"] as const) : undefined;
  const policies = mode === "transaction" && former === undefined ? (["rerun", "verify", "hold"] as const) : undefined;
  const onUnknown = former === "charges" ? "verify" : random.pick(policies ?? (["rerun", "verify"] as const));
  return {
    key: `k${index}`,
    mode,
    former,
    onUnknown,
    leaseMs: random.chance(0.5) ? random.int(60, 400) : random.int(300, 2_500),
    waitMs: random.chance(0.5) ? undefined : random.int(50, 2_000),
  };
}

function itemOf(random: Random, kind: Kind, atMs: number, places: number, keys: number): Item {
  const place = random.int(0, places - 1);
  const forMs = random.chance(0.6) ? random.between(50, 1_500) : random.between(500, 6_000);
  switch (kind) {
    case "ask":
      return { kind, atMs, key: random.int(0, keys - 1), place, tries: random.int(1, 4) };
    case "kill":
    case "stop":
      return { kind, atMs, place, awayMs: forMs };
    case "freeze":
      return { kind, atMs, place, forMs, first: random.pick(["reply", "timer"] as const) };
    case "away":
      return { kind, atMs, forMs };
    case "lock":
      return { kind, atMs };
  }
}

/**
 * Drawn apart: somebody answers while the answer of the handler's own transaction is still on its way to the store. That
 * takes a handler who commits itself, an early answer and a slow message at once.
 */
function answeredOnTheWay(plan: TransactionsPlan): TransactionsPlan {
  return {
    ...plan,
    // Nobody settles in these histories, so nothing may be held.
    routes: plan.routes.map(({ onUnknown, ...route }) => ({
      ...route,
      mode: "lease",
      onUnknown: onUnknown === "hold" ? "rerun" : onUnknown,
    })),
    aimed: { ...plan.aimed, slowThere: 0.4 },
    habits: { ...plan.habits, bare: 0, own: 0.9, early: 0.9 },
  };
}

/** Drawn apart: callers who send other content under a key, before, beside and behind those who have the usual one. */
function othersOf(plan: TransactionsPlan): readonly Item[] {
  const random = createRandom(plan.seed, 6_163);
  if (!random.chance(0.15)) return [];
  return Array.from({ length: random.int(1, 5) }, () => ({
    kind: "ask",
    atMs: random.between(50, plan.spanMs),
    key: random.int(0, plan.routes.length - 1),
    place: random.int(0, plan.places - 1),
    tries: random.int(1, 3),
    content: "other",
  }));
}

export function transactionsPlanOf(seed: number): TransactionsPlan {
  const usual = usualPlanOf(seed);
  const plan = createRandom(seed, 6_162).chance(0.04) ? answeredOnTheWay(usual) : usual;
  return { ...plan, items: [...plan.items, ...othersOf(plan)] };
}

function usualPlanOf(seed: number): TransactionsPlan {
  const random = createRandom(seed, 6_161);
  const places = random.int(1, 3);
  const keys = random.int(1, 4);
  const spanMs = random.between(3_000, 10_000);
  const locks = random.chance(0.7) ? "rows" : "file";
  const formers = random.chance(0.6);
  const times: Readonly<Record<Kind, number>> = {
    ask: random.int(3, 10),
    kill: random.chance(0.5) ? 0 : random.int(1, 3),
    stop: random.chance(0.7) ? 0 : random.int(1, 2),
    freeze: random.chance(0.6) ? 0 : random.int(1, 3),
    away: random.chance(0.7) ? 0 : random.int(1, 2),
    lock: random.chance(0.7) || locks === "file" ? 0 : 1,
  };
  const items: Item[] = [];
  for (const [kind, count] of Object.entries(times)) {
    for (let each = 0; each < count; each += 1) {
      const atMs = random.between(50, kind === "ask" ? spanMs * 0.7 : spanMs);
      items.push(itemOf(random, kind as Kind, atMs, places, keys));
    }
  }
  const callMs = random.int(60, 600);
  return {
    seed,
    spanMs,
    places,
    routes: Array.from({ length: keys }, (_, index) => routeOf(random, index, formers)),
    deployedMs: formers ? random.between(0, spanMs) : 0,
    locks,
    aborts: locks === "rows" && random.chance(0.6),
    poolMax: random.int(1, 4),
    callMs,
    givesUp: random.chance(0.5),
    lockMs: random.int(30, callMs * 2),
    executionMs: random.int(200, 2_000),
    verifyMs: random.int(50, 600),
    replayCache: random.chance(0.2),
    faults: strikesOf(random, 0.06),
    aimed: strikesOf(random, 0.4),
    habits: habitsOf(random, locks === "rows"),
    items: items.toSorted((one, other) => one.atMs - other.atMs),
  };
}
