/** Who begins or sends something although a person has paused it, and it must have been noticed. */
import type { Machine } from "../machine.ts";
import type { EventsWorld } from "./world.ts";

type Part = "inbox" | "outbox";

/** For messages that are under way, and for what a process does before it looks. */
const slackMs = 500;
/** So long whoever takes a start for a death waits for its end, once it has looked. */
const takesUpMs = 2_000;

interface InHand {
  readonly sinceMs: number;
  count: number;
}

export class Pauses {
  readonly #world: EventsWorld;
  readonly #sinceMs = new Map<Part, number>();
  /** Deliveries, by consumer and event. */
  readonly #inHand = new Map<string, InHand>();

  constructor(world: EventsWorld) {
    this.#world = world;
  }

  get paused(): readonly Part[] {
    return [...this.#sinceMs.keys()];
  }

  /** A decision of a person, as it is committed. */
  decided(part: Part, values: readonly string[]): void {
    if (values.includes("pause") && !this.#sinceMs.has(part)) this.#sinceMs.set(part, this.#world.nowMs);
    if (values.includes("resume")) this.#sinceMs.delete(part);
  }

  handed(machine: Machine, id: string): void {
    const name = `${machine.name} ${id}`;
    const known = this.#inHand.get(name);
    if (known === undefined) this.#inHand.set(name, { sinceMs: this.#world.nowMs, count: 1 });
    else known.count += 1;
  }

  /** It is acknowledged, or handed back. */
  answered(machine: Machine, id: string): void {
    const name = `${machine.name} ${id}`;
    const known = this.#inHand.get(name);
    if (known === undefined) return;
    known.count -= 1;
    if (known.count === 0) this.#inHand.delete(name);
  }

  /** What is in hand already comes to its end. */
  judgeRun(machine: Machine, id: string): void {
    const { replayMs, callMs } = this.#world.plan;
    const noticedMs = this.#noticed("inbox", machine, 2 * (replayMs + callMs));
    if (noticedMs === undefined) return;
    const inHandMs = this.#inHand.get(`${machine.name} ${id}`)?.sinceMs ?? this.#world.nowMs - takesUpMs;
    if (inHandMs > noticedMs) this.#world.violate("paused-ran", `${id} by ${machine.name}`);
  }

  judgeSending(machine: Machine, id: string): void {
    const { leaseMs, callMs } = this.#world.plan;
    const noticedMs = this.#noticed("outbox", machine, leaseMs / 3 + 3 * callMs);
    if (noticedMs === undefined || this.#world.nowMs <= noticedMs) return;
    this.#world.violate("paused-sent", `${id} by ${machine.name}`);
  }

  /** By when it has noticed that it is paused; nothing where it is not, or something kept the process from looking. */
  #noticed(part: Part, machine: Machine, withinMs: number): number | undefined {
    const sinceMs = this.#sinceMs.get(part);
    const { struckMs, refusedMs } = this.#world;
    if (sinceMs === undefined || (struckMs.get(machine) ?? 0) > sinceMs || (refusedMs.get(machine) ?? 0) > sinceMs)
      return undefined;
    return sinceMs + withinMs + slackMs;
  }
}
