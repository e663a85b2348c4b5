/** What one history of events shares: time, trace, processes, and what strikes their messages. */
import { epochMs, Machine } from "../machine.ts";
import { mixed } from "../random.ts";
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

export const toBroker = "to the broker";
/** After so long without a word a publisher says that it found no way. */
export const brokerTimeoutMs = 2_000;

export class EventsWorld {
  readonly plan: EventsPlan;
  readonly scheduler = new Scheduler();
  readonly trace: Trace;
  readonly omitted: Omissions;
  readonly violations: Violation[] = [];
  readonly machines: Machine[] = [];
  readonly fates: string[] = [];
  readonly counts = {
    databaseCalls: 0,
    storeCalls: 0,
    commits: 0,
    faults: 0,
    deaths: 0,
    deliveries: 0,
    effects: 0,
    letters: 0,
  };
  /** The faults are over. */
  isQuiet = false;
  #databaseAheadMs = 0;
  databaseAwayUntilMs = 0;
  brokerAwayUntilMs = 0;
  /** Those that may die by a message. */
  readonly mortals = new Set<Machine>();
  /** Processes that something has ever struck or held up. */
  readonly troubled = new Set<Machine>();
  /** When a process was last told that the database is locked. */
  readonly refusedMs = new Map<Machine, number>();
  /** When something last struck the messages of a process. */
  readonly struckMs = new Map<Machine, number>();
  /** Until when a process alone does not reach the database. */
  readonly cutOffMs = new Map<Machine, number>();
  /** Called when an effect has just been committed, and nobody has heard of it yet. */
  tookEffect: (machine: Machine, isReplay: boolean) => void = () => undefined;
  onKilled: (machine: Machine) => void = () => undefined;
  /** Called when a message has become a letter, the handler's or the relay's, and nobody has heard of it yet. */
  onLetter: (by: Machine) => void = () => undefined;
  /** Called when a process has heard that it has a lease. */
  onLease: (machine: Machine) => void = () => undefined;

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
    return Math.floor(epochMs + this.nowMs + this.#databaseAheadMs);
  }

  /** The clock of the store of leases, which is another one. */
  storeNowMs(): number {
    return Math.floor(epochMs + this.nowMs);
  }

  /** Sessions may be over at once, or for ever. */
  jump(byMs: number): void {
    this.note(`the clock of the database jumps by ${byMs} ms`);
    this.#databaseAheadMs += byMs;
    for (const machine of this.machines) this.strike(machine, this.nowMs);
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

  /** A strike comes even when the other faults are over: most letters are replayed then. */
  kill(machine: Machine, by: "fault" | "strike" = "fault"): void {
    if (!machine.isAlive || (this.isQuiet && by === "fault")) return;
    this.note(`${machine.name} dies`);
    this.counts.deaths += 1;
    machine.kill();
    this.onKilled(machine);
  }

  freeze(machine: Machine, forMs: number, first: "reply" | "timer"): void {
    if (!machine.isAlive || this.isQuiet) return;
    this.note(`${machine.name} stands still for ${forMs.toFixed(0)} ms, then ${first} first`);
    this.strike(machine, this.nowMs + forMs);
    machine.freeze(forMs, first);
  }

  cutOff(machine: Machine, forMs: number): void {
    if (!machine.isAlive) return;
    this.note(`${machine.name} does not reach the database for ${forMs.toFixed(0)} ms`);
    this.cutOffMs.set(machine, this.nowMs + forMs);
    this.strike(machine, this.nowMs + forMs);
  }

  isCutOff(machine: Machine): boolean {
    return (this.cutOffMs.get(machine) ?? 0) > this.nowMs;
  }

  /** Something strikes a process, or its messages, until then. */
  strike(machine: Machine, untilMs: number): void {
    this.troubled.add(machine);
    this.struckMs.set(machine, Math.max(this.struckMs.get(machine) ?? 0, untilMs));
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
    const part = (which: number): number => mixed(seed, machine.number, machine.sent, which) / 2 ** 32;
    const plain: Fate = {
      thereMs: 0.1 + 0.9 * part(11),
      backMs: 0.1 + 0.9 * part(12),
      lost: undefined,
      dies: false,
      tells: true,
      seenMs: 0,
    };
    const draw = part(13);
    const { before, after, slowThere, slowBack, dies } = faults;
    const bounds = [before, after, slowThere, slowBack, this.mortals.has(machine) ? dies : 0];
    const kinds = ["before", "after", "slow there", "slow back", "dies"] as const;
    let sum = 0;
    const kind = kinds.find((_, index) => {
      sum += bounds[index] ?? 0;
      return draw < sum;
    });
    if (kind === undefined || !this.strikes(`${machine.name} ${what} ${machine.sent} ${kind}`)) return plain;
    const struck = { ...plain, tells: part(14) < 0.6, seenMs: part(15) < 0.5 ? 0 : part(16) * 3_000 };
    const slowMs = 20 + part(17) * (this.plan.callMs * 2 - 20);
    const untilMs = this.nowMs + (kind.startsWith("slow") ? slowMs : 0);
    // A slow broker is waited for; all else may keep a process from what it has to do in time.
    if (!kind.startsWith("slow") || what !== toBroker || slowMs > brokerTimeoutMs / 2) this.strike(machine, untilMs);
    if (kind === "slow there") return { ...struck, thereMs: slowMs };
    if (kind === "slow back") return { ...struck, backMs: slowMs };
    if (kind === "dies") return { ...struck, dies: true };
    return { ...struck, lost: kind };
  }
}
