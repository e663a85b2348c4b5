/** What consumers run: effects in the inbox's own database, and calls to the outside under a lease. */
import type { OnUnknown, StepVerdict } from "../../packages/ichido/src/core/contract/options.ts";
import type { ConsumerHandler } from "../../packages/ichido/src/inbox/handlers.ts";
import type { LeasedHandler } from "../../packages/ichido/src/inbox/run-leased.ts";
import type { OnceHandler } from "../../packages/ichido/src/inbox/run-once.ts";
import type { Machine } from "../machine.ts";
import { mixed } from "../random.ts";
import type { Ledger } from "./ledger.ts";
import type { Provider } from "./provider.ts";
import type { EventsWorld } from "./world.ts";

export const leasedName = "bank";
const topics = ["order.*"];
const step = "call";

/** Where handlers run, and what they reach from there. */
export interface Site {
  readonly world: EventsWorld;
  readonly ledger: Ledger;
  readonly machine: Machine;
  readonly provider: Provider;
}

export function handlerNames({ plan }: EventsWorld): readonly string[] {
  return [...["mail", "stock"].slice(0, plan.handlers), ...(plan.leased === "none" ? [] : [leasedName])];
}

/** Of some events the first runs fail, before or after the effect; `act` is the effect. */
async function acted(
  { world, ledger, machine }: Site,
  { name, id }: { readonly name: string; readonly id: string },
  act: () => Promise<unknown>,
): Promise<void> {
  const { seed, faults, handlerMsMax } = world.plan;
  const draw = mixed(seed, ...Buffer.from(id), name.length);
  const run = ledger.began(machine, name, id);
  const fails = draw % 1_000 < faults.fails * 1_000 && run <= 1 + (draw % 4);
  const isStruck = fails && world.strikes(`${name} of ${id} run ${run} fails`);
  try {
    if (isStruck && draw % 2 === 0) throw new Error("the handler failed");
    const tookMs = world.isQuiet ? 1 : (draw % 97) * 0.01 * handlerMsMax;
    await new Promise<void>((resolve) => {
      machine.after(tookMs, resolve);
    });
    await act();
    if (isStruck) throw new Error("the handler failed");
  } finally {
    ledger.ended(machine, name, id);
  }
}

function onceHandler(site: Site, name: string): OnceHandler<undefined> {
  return (_tx, { handle, message: { id } }) =>
    acted(site, { name, id }, () => handle.execute("insert into effects (handler, event) values (?, ?)", [name, id]));
}

function leasedHandler(site: Site): LeasedHandler {
  const { world, machine, provider } = site;
  const verify = async ({ reference }: { readonly reference: string }): Promise<StepVerdict<null>> => {
    const verdict = await provider.ask(machine, reference);
    return verdict === "found" ? { verdict, value: null } : { verdict };
  };
  const options = world.plan.leased === "asked" ? { verify } : {};
  return (context, { message: { id } }) =>
    acted(site, { name: leasedName, id }, () =>
      context.step(step, options, async ({ reference }) => {
        await provider.call(machine, { handler: leasedName, id, reference });
        return null;
      }),
    );
}

function onUnknownOf({ world, machine, provider }: Site): OnUnknown {
  if (world.plan.leased !== "asked") return "rerun";
  return {
    verify: async ({ reference }) => {
      const verdict = await provider.ask(machine, reference(step));
      return verdict === "found" ? { verdict, response: { status: 200, body: null } } : { verdict };
    },
  };
}

export function handlersOf(site: Site): readonly ConsumerHandler<undefined>[] {
  return handlerNames(site.world).map((name) =>
    name === leasedName
      ? {
          name,
          topics,
          run: leasedHandler(site),
          onUnknown: onUnknownOf(site),
        }
      : { name, topics, once: onceHandler(site, name) },
  );
}
