/** What is drawn apart, for a few seeds each: every other seed keeps its history. */
import type { Item, RoutePlan } from "./plan.ts";
import { createRandom } from "./random.ts";

/** A handler that tries a step again by itself, whatever became of it. */
export interface Again {
  /** How long it waits before each try, counted in the time after which an effect can be seen. */
  readonly waits: readonly number[];
  /** The share of calls that are lost: without losses nothing is tried again. */
  readonly lost: number;
}

/** Some wait for a moment, and some until what became of the call can be seen. */
export function againOf(seed: number): Again | undefined {
  const random = createRandom(seed, 122);
  if (!random.chance(0.1)) return undefined;
  const waits = Array.from({ length: random.int(1, 3) }, () =>
    random.chance(0.5) ? random.between(0, 0.2) : random.between(0.8, 1.4),
  );
  return { waits, lost: random.between(0.1, 0.35) };
}

/** A provider that remembers references for a while, and no longer. */
export interface Memory {
  readonly remembersMs: number;
  readonly lost: number;
}

interface Forgetful {
  readonly memory: Memory | undefined;
  readonly routes: readonly RoutePlan[];
  readonly items: readonly Item[];
}

/** Of nobody else's. */
const lateKey = 7;

/**
 * A step is first made by somebody whose answer is lost, and asked for again before and after its reference is forgotten;
 * by handlers that are slow to come to it, too. Its age is told by the store's clock, which must not jump.
 */
export function forgetfulOf(
  seed: number,
  routes: readonly RoutePlan[],
  items: readonly Item[],
  { leaseMs, spanMs }: { readonly leaseMs: number; readonly spanMs: number },
): Forgetful {
  const random = createRandom(seed, 139);
  if (!random.chance(0.08) || items.some(({ kind }) => kind === "jump"))
    return { memory: undefined, routes, items: [] };
  const remembersMs = Math.ceil(leaseMs * random.between(0.5, 5));
  const before: RoutePlan["actions"] = random.chance(0.6)
    ? [
        { do: "step", name: "early", provider: "honours", policy: "rerun" },
        { do: "pause", ms: leaseMs * random.between(0, 6) },
      ]
    : [];
  const kept: RoutePlan["actions"] = [...before, { do: "step", name: "kept", provider: "forgets", policy: "rerun" }];
  const route = random.int(0, routes.length - 1);
  const firstMs = random.between(0, spanMs * 0.4);
  const asks = [0, random.between(0.2, 0.9), random.between(0.9, 2.5), random.between(2, 4)].map((share): Item => {
    const atMs = firstMs + share * remembersMs;
    return { kind: "ask", route, key: lateKey, principal: 0, content: 0, atMs };
  });
  return {
    memory: { remembersMs, lost: random.between(0.2, 0.5) },
    routes: routes.map((each) => ({ ...each, actions: [...kept, ...each.actions] })),
    items: asks,
  };
}
