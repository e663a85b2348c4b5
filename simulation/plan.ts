/**
 * What a seed asks for: routes with their handlers, callers, people, and the faults. One generator for every history; each
 * seed switches some faults off and turns others up. Everything that can be left out to shrink a history has an index.
 */
import { againOf, forgetfulOf, type Again, type Memory } from "./plan-apart.ts";
import { crossingsOf } from "./plan-crossings.ts";
import { deployOf, type NextVersion } from "./plan-deploys.ts";
import { livesOf } from "./plan-lives.ts";
import { tabsOf } from "./plan-tabs.ts";
import { waysOf } from "./plan-ways.ts";
import { createRandom, type Random } from "./random.ts";

/**
 * `honours`: one effect a reference. `forgets`: the same for as long as it remembers the reference. `ignores`: an effect a
 * call, and cannot be asked. `tells`: the same, but can be asked.
 */
export type ProviderKind = "honours" | "forgets" | "ignores" | "tells";

export type Action =
  /** `laterMs`: of every attempt but the first. */
  | { readonly do: "pause"; readonly ms: number; readonly laterMs?: number }
  | {
      readonly do: "step";
      readonly name: string;
      readonly provider: ProviderKind;
      readonly policy: "inherited" | "rerun" | "hold" | "verify";
    }
  | { readonly do: "call"; readonly name: string; readonly provider: ProviderKind }
  | { readonly do: "transaction"; readonly name: string }
  /** Branches side by side: the handler waits for all of them or for none. */
  | { readonly do: "beside"; readonly branches: readonly (readonly Action[])[]; readonly isAwaited: boolean };

/** How a handler ends before its time, or its answer where it comes to its end. */
export type Ending =
  | "created"
  | "declined"
  | "busy"
  | "error"
  | "throw"
  | "unknown"
  /** It gives its key back by `ctx.release`, and answers or throws. */
  | "released"
  | "released-throw";

export interface RoutePlan {
  readonly operation: string;
  readonly via: "http" | "run";
  readonly onUnknown: "rerun" | "hold" | "verify";
  readonly profile: "ietf" | "polling" | "adr-007";
  readonly inFlight: "default" | { readonly waitMs: number };
  readonly leaseMs: number;
  readonly retentionMs: number;
  readonly runsWithoutStore: boolean;
  /** Answers are larger than what is kept of them: that it was done is remembered, not how it was answered. */
  readonly forgets: boolean;
  readonly actions: readonly Action[];
  /** What a call without an answer makes of the handler. */
  readonly onLostCall: "throw" | "error" | "unknown";
  /** How the first attempts end, each at an action (before it). Later ones come to their end. */
  readonly early: readonly { readonly ending: Ending; readonly at: number }[];
  readonly ending: "created" | "declined";
  /** Absent: all processes run the same version. */
  readonly next?: NextVersion;
  /** Its answer goes out piece by piece: only that there was one is kept. */
  readonly streams?: boolean;
}

export type Item =
  | {
      readonly kind: "ask";
      readonly atMs: number;
      readonly route: number;
      readonly key: number;
      readonly principal: number;
      readonly content: number;
      /** Where it is asked, while somebody is there; absent: anywhere. */
      readonly server?: number;
    }
  | { readonly kind: "press"; readonly atMs: number; readonly person: number }
  | { readonly kind: "reload"; readonly atMs: number; readonly person: number }
  /** The person presses in another tab, be it after all is done. */
  | { readonly kind: "tab"; readonly atMs: number; readonly person: number }
  /** The cart is changed. */
  | { readonly kind: "edit"; readonly atMs: number; readonly person: number }
  /** The browser keeps nothing new. */
  | { readonly kind: "full"; readonly atMs: number; readonly person: number; readonly forMs: number }
  | { readonly kind: "kill"; readonly atMs: number; readonly server: number; readonly awayMs: number }
  | { readonly kind: "close"; readonly atMs: number; readonly server: number; readonly awayMs: number }
  | {
      readonly kind: "freeze";
      readonly atMs: number;
      readonly server: number;
      readonly forMs: number;
      readonly first: "reply" | "timer";
    }
  | {
      readonly kind: "outage";
      readonly atMs: number;
      readonly forMs: number;
      /** Absent: everybody's. */
      readonly server?: number;
      readonly refuses: boolean;
    }
  | { readonly kind: "jump"; readonly atMs: number; readonly byMs: number }
  /** The store loses the next record that it grants as new, and its clock stands still from then on. */
  | { readonly kind: "forget"; readonly atMs: number; readonly standsMs: number }
  | { readonly kind: "operator"; readonly atMs: number; readonly thinksMs: number; readonly wish: "hold" | "settle" }
  | { readonly kind: "blind"; readonly atMs: number; readonly forMs: number };

/** Shares of messages that meet a fault. */
export interface Weather {
  readonly lostBefore: number;
  readonly lostAfter: number;
  readonly late: number;
  readonly twice: number;
  readonly slow: number;
  /** The sender dies, or stands still, right after sending. */
  readonly dies: number;
  readonly stalls: number;
  /** It is told to close down. */
  readonly closes: number;
  /** A person looks into the records in doubt while the message is under way. */
  readonly meddles: number;
  readonly callLostBefore: number;
  readonly callLostAfter: number;
  readonly callDies: number;
  readonly callStalls: number;
  readonly webLostBefore: number;
  readonly webLostAfter: number;
  readonly webTwice: number;
  readonly gateway: number;
}

export interface PersonPlan {
  readonly route: number;
  readonly pressesMax: number;
}

export interface Plan {
  readonly seed: number;
  readonly routes: readonly RoutePlan[];
  readonly persons: readonly PersonPlan[];
  readonly items: readonly Item[];
  readonly weather: Weather;
  readonly servers: number;
  readonly driver: { readonly repeats: boolean; readonly timeoutMs: number; readonly gives: "up" | "late" };
  readonly watches: boolean;
  readonly replayCache: boolean;
  /** The reconciler gets the engine of its process, not the store alone. */
  readonly byEngine: boolean;
  readonly reconciler:
    | { readonly everyMs: number; readonly olderThanMs: number; readonly giveUpAfterMs: number }
    | undefined;
  /** How long an effect stays invisible to a query, and a call under way at most. */
  readonly lagMs: number;
  readonly callMsMax: number;
  readonly callTimeoutMs: number;
  /** What a handler may take at most; beyond it nobody keeps the key for it. */
  readonly executionMs: number;
  /** All who ask for a key come to the same process, while it is there. */
  readonly isSticky: boolean;
  /** The share of what attempts say last that is long under way. */
  readonly slowWords: number;
  /** How long the faults last. */
  readonly spanMs: number;
  readonly leaseMs: number;
  readonly drift: number;
  /** The store's clock leaps by more than a lease forgives: what rests on leases alone is not promised. */
  readonly leaps: boolean;
  /** Retention ends within the history. */
  readonly isShort: boolean;
  readonly again: Again | undefined;
  readonly memory: Memory | undefined;
}

function weatherOf(random: Random): Weather {
  const share = (usual: number): number => {
    if (random.chance(0.4)) return 0;
    return random.chance(0.3) ? usual * 5 : usual;
  };
  return {
    lostBefore: share(0.02),
    lostAfter: share(0.04),
    late: share(0.02),
    twice: share(0.02),
    slow: share(0.08),
    dies: share(0.015),
    stalls: share(0.02),
    closes: share(0.006),
    meddles: share(0.01),
    callLostBefore: share(0.04),
    callLostAfter: share(0.06),
    callDies: share(0.04),
    callStalls: share(0.03),
    webLostBefore: share(0.05),
    webLostAfter: share(0.08),
    webTwice: share(0.04),
    gateway: share(0.06),
  };
}

function actionsOf(random: Random, onUnknown: RoutePlan["onUnknown"], leaseMs: number): Action[] {
  const actions: Action[] = [];
  const pause = (): void => {
    if (random.chance(0.4))
      actions.push({ do: "pause", ms: random.between(0, leaseMs * (random.chance(0.2) ? 2 : 0.5)) });
  };
  const honoured = (name: string): Action =>
    random.chance(0.6)
      ? { do: "step", name, provider: "honours", policy: random.pick(["inherited", "rerun"] as const) }
      : { do: "call", name, provider: "honours" };
  const asked = (name: string): Action => ({ do: "step", name, provider: "tells", policy: "verify" });
  const held = (name: string): Action => ({ do: "step", name, provider: "ignores", policy: "hold" });
  if (random.chance(0.3)) pause();
  if (onUnknown === "verify") {
    if (random.chance(0.25)) actions.push(honoured("before"));
    actions.push(
      random.chance(0.6)
        ? { do: "call", name: "main", provider: "tells" }
        : { do: "step", name: "main", provider: "tells", policy: "inherited" },
    );
    pause();
    if (random.chance(0.3)) actions.push(random.pick([honoured("after"), held("after")]));
  } else if (onUnknown === "hold") {
    if (random.chance(0.5)) actions.push(random.pick([honoured("before"), asked("before")]));
    pause();
    actions.push(
      random.chance(0.6)
        ? { do: "call", name: "main", provider: "ignores" }
        : { do: "step", name: "main", provider: "ignores", policy: random.pick(["inherited", "hold"] as const) },
    );
    pause();
    if (random.chance(0.3)) actions.push(honoured("after"));
  } else {
    if (random.chance(0.4)) actions.push(honoured("before"));
    pause();
    actions.push(random.pick([honoured("main"), asked("main"), held("main"), asked("main")]));
    pause();
    if (random.chance(0.3)) actions.push(random.pick([honoured("after"), asked("after")]));
  }
  if (random.chance(0.25)) actions.push({ do: "transaction", name: "row" });
  return actions;
}

/** Up to where a handler may truly say that nothing is left undone or in doubt: no call outside steps to a provider that forgets. */
function releasable(actions: readonly Action[]): number {
  const first = actions.findIndex((action) => action.do === "call" && action.provider !== "honours");
  return first === -1 ? actions.length : first;
}

function routeOf(random: Random, number: number, leaseMs: number, isShort: boolean, spanMs: number): RoutePlan {
  const onUnknown = random.pick(["rerun", "hold", "verify", "verify"] as const);
  const actions = actionsOf(random, onUnknown, leaseMs);
  const early: { ending: Ending; at: number }[] = [];
  for (let attempt = 0; attempt < 2 && random.chance(0.35); attempt += 1) {
    const ending = random.pick(["busy", "error", "throw", "throw", "unknown"] as const);
    const most = ending === "busy" ? releasable(actions) : actions.length;
    early.push({ ending, at: random.int(0, most) });
  }
  const via = random.chance(0.2) ? "run" : "http";
  const profile = via === "run" ? "ietf" : random.pick(["ietf", "ietf", "polling", "adr-007"] as const);
  return {
    operation: `op${number}`,
    via,
    onUnknown,
    profile,
    inFlight: random.chance(0.4) ? { waitMs: Math.ceil(leaseMs * random.between(0.3, 2)) } : "default",
    leaseMs,
    retentionMs: isShort ? Math.ceil(random.between(0.7 * leaseMs, spanMs * 0.6)) : 86_400_000,
    runsWithoutStore: via === "http" && random.chance(0.06),
    forgets: via === "http" && random.chance(0.08),
    actions,
    onLostCall: random.pick(["throw", "throw", "error", "unknown"] as const),
    early: via === "run" ? early.filter(({ ending }) => ending === "throw" || ending === "unknown") : early,
    ending: via === "http" && random.chance(0.1) ? "declined" : "created",
  };
}

/**
 * Drawn apart: an outage while nobody asks changes little. Somebody is at work when it begins; others, some with another
 * content, ask for the same while it lasts and when it ends.
 */
function asksAround(
  random: Random,
  { atMs, forMs }: Extract<Item, { kind: "outage" }>,
  routes: number,
  keys: number,
  leaseMs: number,
): readonly Item[] {
  const asked = { kind: "ask", route: random.int(0, routes - 1), key: random.int(0, keys - 1), principal: 0 } as const;
  const first: Item = { ...asked, atMs: atMs - leaseMs * random.between(0, 0.6), content: 0 };
  const others = Array.from({ length: random.int(3, 6) }, () => ({
    ...asked,
    atMs: atMs + (random.chance(0.5) ? forMs * random.between(0.2, 1) : forMs + leaseMs * random.between(0, 0.2)),
    content: random.int(0, 1),
  }));
  return [first, ...others];
}

interface CutOff {
  readonly items: readonly Item[];
  readonly routes: readonly RoutePlan[];
}

/** Of nobody else's. */
const cutOffKey = 9;

/**
 * Drawn apart: a process that cannot reach the store for longer than a lease matters where it is at work all the while,
 * and others ask for the same once that lease has lapsed.
 */
function cutOff(random: Random, given: readonly RoutePlan[], servers: number, leaseMs: number, spanMs: number): CutOff {
  const atMs = random.between(leaseMs, spanMs);
  const forMs = leaseMs * random.between(1.2, 3);
  const route = random.int(0, given.length - 1);
  const pause: Action = { do: "pause", ms: forMs };
  const routes = given.map((each, at) => (at === route ? { ...each, actions: [...each.actions, pause] } : each));
  const asked = { kind: "ask", route, key: cutOffKey, principal: 0, content: 0 } as const;
  const lapsed = Array.from({ length: 3 }, () => ({ ...asked, atMs: atMs + leaseMs * random.between(1, 1.5) }));
  const outage: Item = {
    kind: "outage",
    atMs,
    forMs,
    server: random.int(0, servers - 1),
    refuses: random.chance(0.6),
  };
  return { routes, items: [{ ...asked, atMs: atMs - leaseMs * random.between(0, 0.3) }, outage, ...lapsed] };
}

/** Of nobody else's. */
const forgottenKey = 8;

/**
 * Drawn apart: a store that comes back as it was a moment ago, its clock included. Another process is granted what was
 * granted already, and by the same reading of the clock: only the owner tells the two apart.
 */
function forgetting(random: Random, routes: number, leaseMs: number, spanMs: number): readonly Item[] {
  const atMs = random.between(0, spanMs);
  const standsMs = leaseMs * random.between(0.5, 1);
  const asked = { kind: "ask", route: random.int(0, routes - 1), key: forgottenKey, principal: 0, content: 0 } as const;
  const others = Array.from({ length: 3 }, () => ({ ...asked, atMs: atMs + standsMs * random.between(0, 0.5) }));
  return [{ kind: "forget", atMs, standsMs }, { ...asked, atMs }, ...others];
}

export function planOf(seed: number): Plan {
  const random = createRandom(seed, 11);
  const weather = weatherOf(random);
  const leaseMs = random.chance(0.1) ? 60_000 : Math.ceil(random.between(300, 3_000));
  const spanMs = leaseMs * random.between(8, 20);
  const isShort = random.chance(0.2);
  const routes = Array.from({ length: random.chance(0.3) ? 2 : 1 }, (_, number) =>
    routeOf(random, number, leaseMs, isShort, spanMs),
  );
  const servers = random.int(2, 3);
  const items: Item[] = [];
  const at = (): number => random.between(0, spanMs);
  const keys = random.int(1, 3);
  const asks = random.int(3, 10);
  const ask = (atMs: number): void => {
    items.push({
      kind: "ask",
      atMs,
      route: random.int(0, routes.length - 1),
      key: random.int(0, keys - 1),
      principal: random.chance(0.1) ? 1 : 0,
      content: random.chance(0.08) ? 1 : 0,
    });
  };
  for (let each = 0; each < asks; each += 1) ask(at());
  const persons: PersonPlan[] = [];
  const pressable = routes.flatMap((route, index) => (route.via === "http" && !isShort ? [index] : []));
  if (pressable.length > 0 && random.chance(0.6)) {
    for (let each = random.int(1, 2); each > 0; each -= 1) {
      const person = persons.length;
      persons.push({ route: random.pick(pressable), pressesMax: random.int(3, 6) });
      const firstMs = random.between(0, spanMs * 0.5);
      items.push({ kind: "press", atMs: firstMs, person });
      const reloads = random.chance(0.5) ? random.int(1, 2) : 0;
      for (let more = reloads; more > 0; more -= 1) {
        items.push({ kind: "reload", atMs: random.between(firstMs, spanMs), person });
      }
    }
  }
  const some = (most: number): number => (random.chance(0.45) ? 0 : random.int(1, most));
  const server = (): number => random.int(0, servers - 1);
  const awayMs = (): number => random.between(0.05, 2) * leaseMs;
  for (let each = some(3); each > 0; each -= 1)
    items.push({ kind: "kill", atMs: at(), server: server(), awayMs: awayMs() });
  for (let each = some(2); each > 0; each -= 1)
    items.push({ kind: "close", atMs: at(), server: server(), awayMs: awayMs() });
  for (let each = some(3); each > 0; each -= 1) {
    const first = random.pick(["reply", "timer"] as const);
    items.push({ kind: "freeze", atMs: at(), server: server(), forMs: random.between(0.2, 3) * leaseMs, first });
  }
  for (let each = some(2); each > 0; each -= 1) {
    items.push({
      kind: "outage",
      atMs: at(),
      forMs: random.between(0.1, 2.5) * leaseMs,
      refuses: random.chance(0.6),
      ...(random.chance(0.5) ? { server: server() } : {}),
    });
  }
  const leaps = random.chance(0.12);
  const jump = (byMs: number): void => {
    const atMs = at();
    items.push({ kind: "jump", atMs, byMs });
    // A clock that jumps while nobody is at work changes little.
    ask(atMs - leaseMs * random.between(0, 0.5));
    for (let each = random.int(1, 3); each > 0; each -= 1) ask(atMs + leaseMs * random.between(0, 0.5));
  };
  if (leaps) jump(random.between(0.5, 30) * leaseMs * random.pick([1, -1]));
  else if (random.chance(0.25)) jump(-random.between(1, 30_000));
  for (let each = some(3); each > 0; each -= 1) {
    const wish = random.chance(0.5) ? "hold" : "settle";
    const thinksMs = leaseMs * random.between(0, random.chance(0.3) ? 5 : 1);
    items.push({ kind: "operator", atMs: at(), thinksMs, wish });
  }
  if (random.chance(0.2)) items.push({ kind: "blind", atMs: at(), forMs: random.between(0.5, 1.5) * spanMs });
  const apart = createRandom(seed, 65);
  const outages = apart.chance(0.25) ? items.filter((item) => item.kind === "outage") : [];
  items.push(...outages.flatMap((outage) => asksAround(apart, outage, routes.length, keys, leaseMs)));
  const far = createRandom(seed, 68);
  const cut = far.chance(0.03) ? cutOff(far, routes, servers, leaseMs, spanMs) : { items: [], routes };
  items.push(...cut.items);
  const lossy = createRandom(seed, 71);
  if (lossy.chance(0.02)) items.push(...forgetting(lossy, routes.length, leaseMs, spanMs));
  const forgetful = forgetfulOf(seed, cut.routes, items, { leaseMs, spanMs });
  items.push(...forgetful.items);
  const isSticky = outages.length > 0 && apart.chance(0.7);
  const drawn = { routes: waysOf(seed, forgetful.routes), weather, isSticky, slowWords: 0, items: [] };
  const crossed = crossingsOf(seed, drawn, leaseMs, spanMs);
  const lives = livesOf(seed, forgetful.routes.length, servers, { leaseMs, spanMs });
  const living = lives === undefined ? forgetful.routes : [...forgetful.routes, lives.route];
  const deployed = deployOf(seed, living, { leaseMs, spanMs });
  items.push(...crossed.items, ...(lives?.items ?? []), ...(deployed?.items ?? []));
  items.push(...tabsOf(seed, persons, leaseMs, spanMs));
  items.sort((one, other) => one.atMs - other.atMs);
  const callMsMax = leaseMs * random.between(0.1, 0.6);
  const timeoutMs = Math.ceil(leaseMs * random.between(0.15, 0.9));
  const again = againOf(seed);
  const { memory } = forgetful;
  const lost = again?.lost ?? memory?.lost;
  return {
    seed,
    routes: [...crossed.routes, ...[lives, deployed].flatMap((each) => each?.route ?? [])],
    persons,
    items,
    weather: lost === undefined ? crossed.weather : { ...crossed.weather, callLostBefore: lost, callLostAfter: lost },
    servers,
    driver: { repeats: random.chance(0.7), timeoutMs, gives: random.chance(0.6) ? "up" : "late" },
    watches: random.chance(0.5),
    replayCache: random.chance(0.4) || lives !== undefined,
    byEngine: createRandom(seed, 73).chance(0.5),
    reconciler: random.chance(0.5)
      ? {
          everyMs: Math.ceil(leaseMs * random.between(0.3, 2)),
          olderThanMs: Math.floor(leaseMs * random.between(0, 1)),
          giveUpAfterMs: random.chance(0.7) ? 3_600_000 : Math.ceil(spanMs / 2),
        }
      : undefined,
    lagMs: random.chance(0.4) ? 0 : leaseMs * random.between(0.1, 3),
    callMsMax,
    callTimeoutMs: callMsMax * random.between(0.5, 1.5),
    executionMs: Math.max(100, Math.ceil(random.chance(0.08) ? leaseMs * random.between(1.5, 4) : spanMs * 4)),
    spanMs,
    leaseMs,
    drift: random.chance(0.2) ? random.between(-0.02, 0.02) : 0,
    leaps,
    isShort,
    isSticky: crossed.isSticky,
    slowWords: crossed.slowWords,
    again,
    memory,
  };
}
