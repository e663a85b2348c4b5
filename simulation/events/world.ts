/** What one history of events shares: time, trace, processes, and what strikes their messages. */
import { epochMs, Machine } from "../machine.ts";
import { createRandom, mixed } from "../random.ts";
import { Scheduler } from "../scheduler.ts";
import { Trace } from "../trace.ts";
import type { Omissions, Violation } from "../world.ts";
import type { EventsPlan } from "./plan.ts";

/** What becomes of one message there and back. */
export interface Fate {
  readonly thereMs: number;
  readonly backMs: number;
  readonly lost: "before" | "after" | undefined;
  /** Who sent it dies once it has taken effect, before the reply. */
  readonly dies: boolean;
  /** Whoever lost it hears of it at once; else its own timeout tells. */
  readonly tells: boolean;
  /** How long the other side takes to see that a connection is gone. */
  readonly seenMs: number;
}

export class EventsWorld {
  readonly plan: EventsPlan;
  readonly scheduler = new Scheduler();
  readonly trace: Trace;
  readonly omitted: Omissions;
  readonly violations: Violation[] = [];
  readonly machines: Machine[] = [];
  readonly fates: string[] = [];
  readonly counts = { databaseCalls: 0, commits: 0, faults: 0, deaths: 0, deliveries: 0, effects: 0, letters: 0 };
  /** The faults are over. */
  isQuiet = false;
  databaseAwayUntilMs = 0;
  brokerAwayUntilMs = 0;
  /** Those that may die by a message. */
  readonly mortals = new Set<Machine>();
  /** When something last struck the messages of a process. */
  readonly struckMs = new Map<Machine, number>();
  /** Called when an effect has just been committed, and nobody has heard of it yet. */
  tookEffect: (machine: Machine) => void = () => undefined;
  onKilled: (machine: Machine) => void = () => undefined;

  constructor(plan: EventsPlan, omitted: Omissions, keepsTrace: boolean) {
    this.plan = plan;
    this.omitted = omitted;
    this.trace = new Trace(keepsTrace);
  }

  get nowMs(): number {
    return this.scheduler.nowMs;
  }

  /** The clock of the database. */
  databaseNowMs(): number {
    return Math.floor(epochMs + this.nowMs);
  }

  note(line: string): void {
    this.trace.note(this.nowMs, line);
  }

  violate(invariant: string, detail: string): void {
    this.note(`VIOLATION ${invariant}: ${detail}`);
    if (this.omitted.invariants?.has(invariant) === true) return;
    if (this.violations.length === 0) this.violations.push({ invariant, atMs: this.nowMs, detail });
    this.scheduler.isStopped = true;
  }

  newMachine(name: string): Machine {
    const number = this.machines.length;
    const { seed, skewMs } = this.plan;
    const wallAheadMs = skewMs === 0 ? 0 : (mixed(seed, number, 5) % (2 * skewMs)) - skewMs;
    const machine = new Machine(`${name}${number}`, number, seed, this.scheduler, { rate: 1, wallAheadMs });
    this.machines.push(machine);
    return machine;
  }

  kill(machine: Machine): void {
    if (!machine.isAlive || this.isQuiet) return;
    this.note(`${machine.name} dies`);
    this.counts.deaths += 1;
    machine.kill();
    this.onKilled(machine);
  }

  freeze(machine: Machine, forMs: number, first: "reply" | "timer"): void {
    if (!machine.isAlive || this.isQuiet) return;
    this.note(`${machine.name} stands still for ${forMs.toFixed(0)} ms, then ${first} first`);
    this.struckMs.set(machine, this.nowMs + forMs);
    machine.freeze(forMs, first);
  }

  /** Counts a fault that is about to happen; false where it is left out of this history. */
  strikes(fate: string): boolean {
    if (this.isQuiet || this.omitted.fates.has(fate)) return false;
    this.fates.push(fate);
    this.counts.faults += 1;
    return true;
  }

  /** Drawn by the number of the message, so that leaving one fault out changes little else. */
  fateOf(machine: Machine, what: string): Fate {
    machine.sent += 1;
    const { seed, faults } = this.plan;
    const random = createRandom(seed, machine.number, machine.sent, 11);
    const plain: Fate = {
      thereMs: random.between(0.1, 1),
      backMs: random.between(0.1, 1),
      lost: undefined,
      dies: false,
      tells: random.chance(0.6),
      seenMs: random.chance(0.5) ? 0 : random.between(0, 3_000),
    };
    const draw = random.next();
    const slowMs = random.between(20, this.plan.callMs * 2);
    const { before, after, slowThere, slowBack, dies } = faults;
    const bounds = [before, after, slowThere, slowBack, this.mortals.has(machine) ? dies : 0];
    const kinds = ["before", "after", "slow there", "slow back", "dies"] as const;
    let sum = 0;
    const kind = kinds.find((_, index) => {
      sum += bounds[index] ?? 0;
      return draw < sum;
    });
    if (kind === undefined || !this.strikes(`${machine.name} ${what} ${machine.sent} ${kind}`)) return plain;
    const untilMs = this.nowMs + (kind.startsWith("slow") ? slowMs : 0);
    this.struckMs.set(machine, Math.max(this.struckMs.get(machine) ?? 0, untilMs));
    if (kind === "slow there") return { ...plain, thereMs: slowMs };
    if (kind === "slow back") return { ...plain, backMs: slowMs };
    if (kind === "dies") return { ...plain, dies: true };
    return { ...plain, lost: kind };
  }
}
