/** Drawn apart: a deploy that stays half-way, so that processes of two versions ask and answer for the same keys. */
import type { Action, Item, RoutePlan } from "./plan.ts";
import { createRandom, type Random } from "./random.ts";

/** What the next version does otherwise. */
export interface NextVersion {
  /**
   * `version`: it reads contents in another way, and tells the way of the version before beside it. `bytes`: it compares
   * bytes, by an option of the route.
   */
  readonly prints: "same" | "version" | "bytes";
  /** Another name for the step that is not called again by itself. */
  readonly renames: boolean;
}

interface Deployed {
  readonly route: RoutePlan;
  readonly items: readonly Item[];
}

/** Of nobody else's. */
const deployedKey = 5;

/** Of the others a renamed step is another call, and may be made again. */
export function isRenamed(route: RoutePlan, action: Action): action is Extract<Action, { readonly do: "step" }> {
  if (route.next?.renames !== true || action.do !== "step") return false;
  return action.policy === "hold" || action.policy === "verify";
}

/** With a step that is not called again by itself. */
function renamed(random: Random, route: RoutePlan): RoutePlan {
  const main = { do: "step", name: "main" } as const;
  const step: Action = random.chance(0.5)
    ? { ...main, provider: "tells", policy: "verify" }
    : { ...main, provider: "ignores", policy: "hold" };
  return { ...route, onUnknown: "rerun", actions: [step, { do: "pause", ms: route.leaseMs * random.between(0, 0.5) }] };
}

/** As one of the routes that are there. Its owners are struck, and the next one to ask is of the other version. */
export function deployOf(
  seed: number,
  routes: readonly RoutePlan[],
  { leaseMs, spanMs }: { readonly leaseMs: number; readonly spanMs: number },
): Deployed | undefined {
  const random = createRandom(seed, 159);
  const like = routes[random.int(0, routes.length - 1)];
  if (!random.chance(0.04) || like === undefined) return undefined;
  const prints = random.pick(["version", "version", "bytes", "same"] as const);
  const renames = prints === "same" || random.chance(0.3);
  const asked = { kind: "ask", route: routes.length, key: deployedKey, principal: 0, content: 0 } as const;
  const first = random.int(0, 1);
  let atMs = random.between(0, spanMs * 0.3);
  const items: Item[] = [];
  for (let round = 0; round < 3; round += 1) {
    const server = (first + round) % 2;
    items.push({ ...asked, atMs, server });
    const hitMs = atMs + leaseMs * random.between(0.02, 0.6);
    if (random.chance(0.5)) items.push({ kind: "kill", atMs: hitMs, server, awayMs: leaseMs * random.between(0.5, 2) });
    atMs += leaseMs * random.between(0.2, 2.5);
  }
  const route: RoutePlan = { ...like, operation: "deployed", via: "http", next: { prints, renames } };
  return { route: renames ? renamed(random, route) : route, items };
}
