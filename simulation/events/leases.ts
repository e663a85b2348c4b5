/** The engine of handlers under a lease, over a store behind the same network as the database. */
import { createIchido, type Ichido } from "../../packages/ichido/src/core/engine/create-ichido.ts";
import type { Store } from "../../packages/ichido/src/core/contract/store.ts";
import { memoryStore } from "../../packages/ichido/src/stores/memory/index.ts";
import type { Machine } from "../machine.ts";
import type { Ledger } from "./ledger.ts";
import type { EventsWorld } from "./world.ts";

type Method = (...args: readonly unknown[]) => Promise<unknown>;

/** How much longer the engine waits for a call than the driver does. */
const slackMs = 50;

/** At the far end, by a clock of its own. Others may use it as well: then it trusts its clock, whoever of the consumers is away. */
export function createLeaseStore(world: EventsWorld, ledger: Ledger): Store {
  const store = memoryStore({
    nowMs: () => world.storeNowMs(),
    environment: { after: (delayMs, run) => world.scheduler.after(delayMs, run) },
  });
  if (world.plan.isShared) tickAlways(world, store);
  return {
    ...store,
    async complete(request, transaction) {
      const answer = await store.complete(request, transaction);
      if (answer === "ok") ledger.completed(request.identity.key);
      return answer;
    },
  };
}

const tickMs = 500;

function tickAlways(world: EventsWorld, store: Store): void {
  void store.tick({ intervalMs: Math.floor(world.plan.retentionMs / 4) });
  world.scheduler.after(tickMs, () => tickAlways(world, store));
}

function linked(world: EventsWorld, machine: Machine, method: Method): Method {
  const { scheduler, plan } = world;
  return (...args) =>
    new Promise((resolve, reject) => {
      const fate = world.fateOf(machine, "to the store");
      world.counts.storeCalls += 1;
      const timer = machine.after(plan.callMs, () => reject(new Error("no answer")));
      const answer = (end: () => void): void => {
        scheduler.after(fate.backMs, () =>
          machine.deliver("reply", () => {
            timer.cancel();
            end();
          }),
        );
      };
      const broken = (): void => {
        if (fate.tells) answer(() => reject(new Error("the connection was lost")));
      };
      if (fate.lost === "before" || world.databaseAwayUntilMs > world.nowMs) return broken();
      scheduler.after(fate.thereMs, () => {
        if (world.databaseAwayUntilMs > world.nowMs) return broken();
        method(...args).then(
          (value) => {
            if (fate.dies) return world.kill(machine);
            if (fate.lost === "after") return broken();
            answer(() => resolve(value));
          },
          (error: unknown) => answer(() => reject(error as Error)),
        );
      });
    });
}

/** Without `watch`: nobody waits for another's lease here. */
function linkStore(world: EventsWorld, machine: Machine, far: Store): Store {
  const near: Record<string, unknown> = {
    name: "simulated",
    capabilities: { ...far.capabilities, durable: true, shared: true, promise: "simulated" },
    callTimeoutMs: world.plan.callMs,
  };
  for (const [verb, method] of Object.entries(far)) {
    if (typeof method === "function" && verb !== "watch")
      near[verb] = linked(world, machine, (method as Method).bind(far));
  }
  const store = near as unknown as Store;
  return {
    ...store,
    async claim(request) {
      const result = await store.claim(request);
      if (result.outcome === "granted") world.onLease(machine);
      return result;
    },
  };
}

export function createLeases(world: EventsWorld, machine: Machine, far: Store): Ichido {
  const { callMs, runLeaseMs } = world.plan;
  return createIchido({
    store: linkStore(world, machine, far),
    scope: () => ({ principal: "nobody else" }),
    onUnknown: "rerun",
    environment: machine.environment,
    leaseMs: runLeaseMs,
    storeTimeoutMs: callMs + slackMs,
    closeMs: runLeaseMs,
    sweepMs: "off",
    // Where there is a listener nothing is said to the process: short retentions and lost ticks are meant.
    onEvent: () => undefined,
  });
}
