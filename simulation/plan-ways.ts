/** Ways of handlers, drawn apart: branches beside each other, branches that nobody awaits, keys given back, streams. */
import type { Action, RoutePlan } from "./plan.ts";
import { createRandom, type Random } from "./random.ts";

type Ways = Pick<RoutePlan, "actions" | "early" | "streams">;

const isWork = ({ do: what }: Action): boolean => what === "step" || what === "call";

/** The place of the first action that does something; all, where none does. */
function firstWork(actions: readonly Action[]): number {
  const first = actions.findIndex((action) => action.do !== "pause");
  return first === -1 ? actions.length : first;
}

/** A step that is safe beside whatever else the handler does. */
function stepOf(random: Random, name: string): Action {
  return random.pick([
    { do: "step", name, provider: "honours", policy: "rerun" },
    { do: "step", name, provider: "tells", policy: "verify" },
    { do: "step", name, provider: "tells", policy: "verify" },
    { do: "step", name, provider: "ignores", policy: "hold" },
  ] as const);
}

/**
 * All at once, and as soon as one fails the handler ends beside the others. Each begins with its step: one that came
 * later than another, which a former attempt has started, could be that one under a new name.
 */
function together(random: Random, actions: readonly Action[]): readonly Action[] {
  const place = actions.findIndex(isWork);
  const work = actions[place];
  if (work === undefined) return actions;
  const others = Array.from({ length: random.int(1, 2) }, (_, number) => [stepOf(random, `beside${number}`)]);
  const beside: Action = { do: "beside", branches: [[work], ...others], isAwaited: true };
  return actions.toSpliced(place, 1, beside);
}

/** Goes on whatever becomes of the handler. It may also make the very step that the handler makes. */
function unawaited(random: Random, actions: readonly Action[], leaseMs: number): readonly Action[] {
  const soon: Action = { do: "pause", ms: leaseMs * random.between(0, random.pick([0.02, 0.5])) };
  const first = actions.findIndex(isWork);
  const twin = actions[first];
  const branch = (...each: readonly Action[]): Action => ({ do: "beside", branches: [each], isAwaited: false });
  const chosen = random.next();
  if (twin?.do === "step" && chosen < 0.2) return actions.toSpliced(first, 0, branch(soon, twin));
  if (chosen < 0.5) {
    const drawn = stepOf(random, "alone");
    // A step after it may be left by a former attempt in which this one never began: it must not wait for a person.
    const isLastStep = actions.every((action) => action.do !== "step" && action.do !== "beside");
    const safe: Action = { do: "step", name: "alone", provider: "honours", policy: "rerun" };
    return actions.toSpliced(Math.max(0, first), 0, branch(isLastStep ? drawn : safe));
  }
  const rows = actions.findIndex((action) => action.do === "transaction");
  const end = rows === -1 ? actions.length : rows;
  return actions.toSpliced(end, 0, branch(soon, stepOf(random, "alone"), soon, stepOf(random, "last")));
}

function besides(random: Random, route: RoutePlan, leaseMs: number): Partial<Ways> {
  const given = random.chance(0.5) ? together(random, route.actions) : route.actions;
  const actions = given !== route.actions && random.chance(0.7) ? given : unawaited(random, given, leaseMs);
  // Whoever says that nothing was done must know of all branches.
  const early = route.early.map(({ ending, at }) => ({ ending: ending === "busy" ? "throw" : ending, at }));
  const alone = actions.findIndex((action) => action.do === "beside" && !action.isAwaited);
  // Some end while the first word of a branch is on its way.
  const isHasty = alone !== -1 && random.chance(0.5);
  return { actions, early: isHasty ? [{ ending: "throw", at: alone + 1 }, ...early] : early };
}

/** Some attempts give their key back, with nothing done, and then answer or throw. */
function givesBack(random: Random, { actions, early }: RoutePlan): Partial<Ways> {
  const back = Array.from({ length: random.int(1, 2) }, () => {
    const ending = random.pick(["released", "released", "released-throw"] as const);
    return { ending, at: random.int(0, firstWork(actions)) };
  });
  return { early: [...back, ...early] };
}

/** Every seed that is not chosen here keeps its history. */
export function waysOf(seed: number, routes: readonly RoutePlan[]): readonly RoutePlan[] {
  const random = createRandom(seed, 1_754);
  const way = random.next();
  if (way > 0.13) return routes;
  return routes.map((route) => {
    if (way < 0.07) return { ...route, ...besides(random, route, route.leaseMs) };
    if (way < 0.1) return { ...route, ...givesBack(random, route) };
    if (route.via !== "http") return route;
    return { ...route, ...(random.chance(0.3) ? givesBack(random, route) : {}), streams: true };
  });
}
