/** The outside world of handlers under a lease: honours references for ever, or can be asked by them and ignores them. */
import type { Machine } from "../machine.ts";
import type { Ledger } from "./ledger.ts";
import type { EventsWorld } from "./world.ts";

export interface CallRequest {
  readonly handler: string;
  readonly id: string;
  readonly reference: string;
}

export class Provider {
  readonly #world: EventsWorld;
  readonly #ledger: Ledger;
  readonly #known = new Set<string>();
  /** By their references, and by the events that they are of. */
  readonly #travelling = new Map<string, number>();

  constructor(world: EventsWorld, ledger: Ledger) {
    this.#world = world;
    this.#ledger = ledger;
  }

  call(machine: Machine, request: CallRequest): Promise<void> {
    const { scheduler, plan } = this.#world;
    const fate = this.#world.fateOf(machine, "to the provider");
    const { id, reference } = request;
    return new Promise((resolve, reject) => {
      const timer = machine.after(plan.callMs, () => reject(new Error("the provider did not answer")));
      const answer = (end: () => void): void => {
        scheduler.after(fate.backMs, () =>
          machine.deliver("reply", () => {
            timer.cancel();
            end();
          }),
        );
      };
      const broken = (): void => {
        if (fate.tells) answer(() => reject(new Error("the call was lost")));
      };
      if (fate.lost === "before") return broken();
      for (const each of [reference, id]) this.#count(each, 1);
      scheduler.after(fate.thereMs, () => {
        for (const each of [reference, id]) this.#count(each, -1);
        if (plan.leased !== "honours" || !this.#known.has(reference)) {
          this.#known.add(reference);
          this.#ledger.tookEffect(machine, request.handler, request.id, "outside");
        }
        if (fate.dies) return this.#world.kill(machine);
        if (fate.lost === "after") return broken();
        answer(resolve);
      });
    });
  }

  #count(reference: string, by: number): void {
    this.#travelling.set(reference, (this.#travelling.get(reference) ?? 0) + by);
  }

  /** A call for this event, or by this reference, is on its way. */
  isTravelling(idOrReference: string): boolean {
    return (this.#travelling.get(idOrReference) ?? 0) > 0;
  }

  /** What it says of a reference; a call on its way is not to be seen yet. */
  ask(machine: Machine, reference: string): Promise<"found" | "absent" | "not-visible-yet"> {
    const { scheduler } = this.#world;
    return new Promise((resolve) => {
      scheduler.after(0.5, () => {
        const verdict = this.#known.has(reference)
          ? "found"
          : this.isTravelling(reference)
            ? "not-visible-yet"
            : "absent";
        scheduler.after(0.5, () => machine.deliver("reply", () => resolve(verdict)));
      });
    });
  }
}
