/** Drawn apart: a key that lives several times within the history, while a process remembers the answer of its first life. */
import type { Action, Ending, Item, RoutePlan } from "./plan.ts";
import { createRandom, type Random } from "./random.ts";

interface Lives {
  readonly route: RoutePlan;
  readonly items: readonly Item[];
}

/** Of nobody else's. */
const livingKey = 6;

function actionsOf(random: Random, leaseMs: number): readonly Action[] {
  const pause: Action = { do: "pause", ms: leaseMs * random.between(0.1, 0.7) };
  const call: Action = { do: "call", name: "main", provider: "honours" };
  return random.pick([[call], [pause, call], [call, pause], [pause, call, pause], [pause, call, pause]]);
}

/**
 * One process is asked again and again, some first attempts end without an answer, and somebody may ask for something else
 * elsewhere as soon as the first life is over. Some first owners stand still until then.
 */
export function livesOf(
  seed: number,
  routes: number,
  servers: number,
  { leaseMs, spanMs }: { readonly leaseMs: number; readonly spanMs: number },
): Lives | undefined {
  const random = createRandom(seed, 142);
  if (!random.chance(0.04)) return undefined;
  const retentionMs = Math.ceil(leaseMs * random.between(1.2, 4));
  const bornMs = random.between(leaseMs * 0.1, spanMs * 0.4);
  const home = random.int(0, servers - 1);
  const away = (home + 1) % servers;
  const asked = { kind: "ask", route: routes, key: livingKey, principal: 0 } as const;
  const ask = (share: number, content: number, server: number): Item => {
    return { ...asked, atMs: bornMs + retentionMs * share, content, server };
  };
  const items = [ask(0, 0, home), ask(random.between(0.1, 0.6), 0, home), ask(random.between(0.6, 0.98), 0, home)];
  const freezes = random.chance(0.5);
  if (freezes) {
    const atMs = bornMs + leaseMs * random.between(0.05, 0.2);
    const forMs = retentionMs * random.between(1.1, 1.8);
    items.push({ kind: "freeze", atMs, server: home, forMs, first: random.pick(["reply", "timer"]) });
  }
  const others = random.chance(0.7) ? 1 : 0;
  // Whatever is asked is under way for a moment, at first too.
  const soon = (): number => 1 + random.between(0.01, random.chance(0.5) ? 0.15 : 0.6);
  for (let each = freezes ? 2 : random.int(0, 1); each > 0; each -= 1) items.push(ask(soon(), others, away));
  for (let each = random.int(1, 4); each > 0; each -= 1) items.push(ask(soon(), 0, home));
  const ending: Ending = random.pick(["busy", "busy", "throw"]);
  return {
    route: {
      operation: "living",
      via: "http",
      onUnknown: "rerun",
      profile: random.pick(["ietf", "polling", "adr-007"]),
      inFlight: random.chance(0.4) ? { waitMs: Math.ceil(leaseMs * random.between(0.3, 1)) } : "default",
      leaseMs,
      retentionMs,
      runsWithoutStore: false,
      forgets: false,
      actions: actionsOf(random, leaseMs),
      onLostCall: "throw",
      early: !freezes && random.chance(0.4) ? [{ ending, at: 0 }] : [],
      ending: "created",
    },
    items,
  };
}
