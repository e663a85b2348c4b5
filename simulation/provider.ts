/** The outside world: a ledger of effects, calls that travel and may be lost, and questions that see with a lag. */
import type { Machine } from "./machine.ts";
import type { ProviderKind } from "./plan.ts";
import { createRandom } from "./random.ts";
import type { Effect, World } from "./world.ts";

export class CallLost extends Error {}

export interface CallRequest {
  readonly kind: ProviderKind;
  readonly intent: string;
  readonly call: string;
  readonly reference: string;
  readonly key: string;
  /** The life of the key under which it is made. */
  readonly life: string;
  /** At most one effect is promised for it. */
  readonly isPromised: boolean;
  /** A person who is told no may rightly want it again, under another key. */
  readonly isDeclined: boolean;
}

export interface Provider {
  call(machine: Machine, request: CallRequest): Promise<{ readonly charge: number }>;
  /** What a query by reference says at this moment. */
  look(reference: string): { readonly verdict: "found"; readonly charge: number } | { readonly verdict: "absent" };
  /** A call is under way, or its effect not visible yet. */
  isPending(reference: string): boolean;
  /** A call in the name of this intent is under way. */
  isTravelling(intent: string): boolean;
  ask<Value>(machine: Machine, look: () => Value): Promise<Value>;
}

export function createProvider(world: World): Provider {
  const { plan, scheduler } = world;
  const { weather } = plan;
  const travelling = new Map<string, number>();
  const count = (name: string, by: number): void => void travelling.set(name, (travelling.get(name) ?? 0) + by);

  /** The tenth that is not relied on is too short for leases of a second: whoever called in time is on the way for longer. */
  const rememberedMs =
    (plan.memory?.remembersMs ?? 0) + plan.leaseMs + 2 * plan.driver.timeoutMs + 100 + plan.callMsMax;

  function remembered(kind: ProviderKind, reference: string): Effect | undefined {
    if (kind !== "honours" && kind !== "forgets") return undefined;
    const effect = world.effects.findLast((each) => each.reference === reference);
    const isForgotten = kind === "forgets" && world.nowMs - (effect?.atMs ?? 0) > rememberedMs;
    return isForgotten ? undefined : effect;
  }

  function take({ kind, intent, call, reference, key, life, isPromised, isDeclined }: CallRequest): Effect {
    const known = remembered(kind, reference);
    if (known !== undefined) {
      if (known.intent !== intent && isPromised)
        world.violate("reference-shared", `${intent} and ${known.intent}: ${reference}`);
      return known;
    }
    const number = world.effects.length + 1;
    const effect: Effect = { intent, call, kind, reference, key, atMs: world.nowMs, life, number, isPromised };
    const former = world.effects.find(
      (each) => each.intent === intent && each.call === call && each.life === life && each.isPromised,
    );
    world.effects.push(effect);
    world.note(`EFFECT ${number}: ${call} of ${intent} (${kind}, ${reference})`);
    if (former !== undefined && isPromised) {
      // The intent of a person who was led to press again under another key, or one key whose handler ran again.
      const invariant = former.key === key ? "effect-twice" : "intent-twice";
      if (invariant === "intent-twice" && isDeclined) return effect;
      world.violate(invariant, `${call} of ${intent}: effects ${former.number} and ${number} (${kind})`);
    }
    return effect;
  }

  const visible = (reference: string): Effect | undefined =>
    world.effects.find((each) => each.reference === reference && each.atMs + plan.lagMs <= world.nowMs);

  return {
    call(machine, request) {
      machine.sent += 1;
      const name = `${machine.name}.${machine.sent}`;
      const random = createRandom(plan.seed, machine.number, machine.sent);
      const most = world.isQuiet ? plan.callTimeoutMs * 0.3 : plan.callMsMax;
      const toMs = random.between(0, random.chance(0.7) ? most * 0.2 : most);
      const backMs = random.between(0, random.chance(0.7) ? most * 0.2 : most);
      const hit = (kind: string, share: number): boolean => random.chance(share) && world.strikes(`${name}:${kind}`);
      const isLostBefore = hit("call-lost-before", weather.callLostBefore);
      const isLostAfter = hit("call-lost-after", weather.callLostAfter);
      if (hit("call-dies", weather.callDies)) {
        scheduler.after(random.between(0, toMs + backMs), () => world.kill(machine));
      }
      if (hit("call-stalls", weather.callStalls)) {
        const forMs = plan.leaseMs * random.between(0.3, 3);
        const first = random.pick(["reply", "timer"] as const);
        scheduler.after(random.between(0, toMs + backMs), () => world.freeze(machine, forMs, first));
      }
      const { reference } = request;
      world.note(
        `${machine.name} calls ${request.call} of ${request.intent} (${name}${isLostBefore ? ", lost" : ""}${isLostAfter ? ", answer lost" : ""})`,
      );
      return new Promise((resolve, reject) => {
        const timer = machine.after(plan.callTimeoutMs, () => reject(new CallLost("the provider did not answer")));
        if (isLostBefore) return;
        count(reference, 1);
        count(request.intent, 1);
        scheduler.after(toMs, () => {
          count(reference, -1);
          count(request.intent, -1);
          const effect = take(request);
          if (isLostAfter) return;
          scheduler.after(backMs, () =>
            machine.deliver("reply", () => {
              timer.cancel();
              resolve({ charge: effect.number });
            }),
          );
        });
      });
    },
    look(reference) {
      const effect = visible(reference);
      return effect === undefined ? { verdict: "absent" } : { verdict: "found", charge: effect.number };
    },
    isPending(reference) {
      if ((travelling.get(reference) ?? 0) > 0) return true;
      return visible(reference) === undefined && world.effects.some((each) => each.reference === reference);
    },
    isTravelling: (intent) => (travelling.get(intent) ?? 0) > 0,
    ask(machine, look) {
      machine.sent += 1;
      const random = createRandom(plan.seed, machine.number, machine.sent);
      const most = plan.callMsMax * 0.2;
      return new Promise((resolve, reject) => {
        scheduler.after(random.between(0, most), () => {
          const isBlind = world.nowMs < world.blindUntilMs;
          const value = look();
          scheduler.after(random.between(0, most), () =>
            machine.deliver("reply", () => {
              if (isBlind) reject(new CallLost("the provider cannot be asked"));
              else resolve(value);
            }),
          );
        });
      });
    },
  };
}
