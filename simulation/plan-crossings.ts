/** What crosses, drawn apart: leases shorter than messages, outcomes of two attempts, a close beside an answer. */
import { limits } from "../packages/ichido/src/core/contract/defaults.ts";
import type { Action, Item, Plan, RoutePlan, Weather } from "./plan.ts";
import { createRandom, type Random } from "./random.ts";

type Crossed = Pick<Plan, "routes" | "weather" | "isSticky" | "slowWords"> & { readonly items: readonly Item[] };

/** Of nobody else's. */
const crossedKey = 6;
const closedKey = 5;

const calm: Partial<Weather> = { dies: 0, stalls: 0, callLostBefore: 0, callLostAfter: 0, callDies: 0, callStalls: 0 };

/** Runs again whenever nobody knows, and takes its time before it answers. */
function slowRoute(route: RoutePlan, { do: what, ...pause }: Extract<Action, { do: "pause" }>): RoutePlan {
  const main: Action = { do: "call", name: "main", provider: "honours" };
  const actions: readonly Action[] = [main, { do: what, ...pause }];
  return { ...route, onUnknown: "rerun", via: "http", forgets: false, runsWithoutStore: false, early: [], actions };
}

const swapped = (routes: readonly RoutePlan[], place: number, route: RoutePlan): readonly RoutePlan[] =>
  routes.with(place, route);

/** The word of a claim may be longer under way than its lease, while its process claims the key again. */
function shortLeases(random: Random, plan: Crossed, leaseMs: number, spanMs: number): Crossed {
  const routes = plan.routes.map((route) => ({
    ...route,
    leaseMs: Math.max(limits.leaseMsMin, Math.ceil(leaseMs * random.between(0.15, 0.4))),
  }));
  const asked = { kind: "ask", route: random.int(0, routes.length - 1), key: crossedKey, principal: 0 } as const;
  const firstMs = random.between(0, spanMs * 0.7);
  const items = Array.from({ length: 6 }, () => {
    return { ...asked, content: 0, atMs: firstMs + leaseMs * random.between(0, 2) };
  });
  return { ...plan, routes, items, isSticky: true, weather: { ...plan.weather, late: 0.12, slow: 0.2 } };
}

/**
 * A handler outlives its lease, for the store was away, and another one of its process has the key by then. Both end
 * while the store is away again.
 */
function twoOutcomes(random: Random, plan: Crossed, leaseMs: number, spanMs: number): Crossed {
  const place = random.int(0, plan.routes.length - 1);
  const route = plan.routes[place];
  if (route === undefined) return plan;
  const pause = { ms: leaseMs * random.between(2.2, 2.8), laterMs: leaseMs * random.between(0.2, 1) };
  const atMs = random.between(leaseMs, spanMs - 5 * leaseMs);
  const asked = { kind: "ask", route: place, key: crossedKey, principal: 0, content: 0 } as const;
  const away = (share: number, forMs: number): Item => {
    return { kind: "outage", atMs: atMs + share * leaseMs, forMs, refuses: random.chance(0.5) };
  };
  const items = [
    { ...asked, atMs },
    away(0.3, 1.4 * leaseMs),
    { ...asked, atMs: atMs + 1.71 * leaseMs },
    { ...asked, atMs: atMs + 1.75 * leaseMs },
    away(1.95, 1.8 * leaseMs),
  ];
  const routes = swapped(plan.routes, place, slowRoute(route, { do: "pause", ...pause }));
  return { ...plan, routes, items, isSticky: true, weather: { ...plan.weather, ...calm } };
}

/** A process that is told to close makes its answer as its time ends, and the store hears of it late. */
function closedBeside(random: Random, plan: Crossed, leaseMs: number, spanMs: number): Crossed {
  const place = random.int(0, plan.routes.length - 1);
  const route = plan.routes[place];
  if (route === undefined) return plan;
  const ms = leaseMs * random.between(0.5, 1.2);
  const atMs = random.between(leaseMs, spanMs - 5 * leaseMs);
  const asked = { kind: "ask", route: place, key: closedKey, principal: 0, content: 0 } as const;
  const closeMs = atMs + ms - leaseMs * random.between(0.2, 0.95);
  const items = [
    { ...asked, atMs },
    ...[0, 1, 2].map((server): Item => ({ kind: "close", atMs: closeMs, server, awayMs: leaseMs * 0.2 })),
    ...[1, 1.3, 1.6].map((share) => ({ ...asked, atMs: closeMs + leaseMs * share })),
  ];
  const routes = swapped(plan.routes, place, slowRoute(route, { do: "pause", ms }));
  return { ...plan, routes, items, slowWords: 0.7, weather: { ...plan.weather, ...calm } };
}

/** Every seed that is not chosen here keeps its history. */
export function crossingsOf(seed: number, plan: Crossed, leaseMs: number, spanMs: number): Crossed {
  const random = createRandom(seed, 176);
  const way = random.next();
  if (way < 0.025) return shortLeases(random, plan, leaseMs, spanMs);
  if (way < 0.04) return twoOutcomes(random, plan, leaseMs, spanMs);
  if (way < 0.055) return closedBeside(random, plan, leaseMs, spanMs);
  return plan;
}
