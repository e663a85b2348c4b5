/** What one history of transactions shares: time, trace, processes, attempts, and what strikes their messages. */
import { epochMs, Machine } from "../machine.ts";
import { createRandom } from "../random.ts";
import { Scheduler } from "../scheduler.ts";
import { Trace } from "../trace.ts";
import type { Omissions, Violation } from "../world.ts";
import type { Strikes, TransactionsPlan } from "./plan.ts";

/** What becomes of one message there and back. */
export interface Fate {
  readonly thereMs: number;
  readonly backMs: number;
  readonly lost: "before" | "after" | undefined;
  /** Who sent it dies once it has taken effect, before the reply. */
  readonly dies: boolean;
  /** Whoever lost it hears of it at once; else nobody tells. */
  readonly tells: boolean;
  /** How long the other side takes to see that a connection is gone. */
  readonly seenMs: number;
}

/** What is sent with a key. */
export type Content = "usual" | "other";

/** One call of a handler. */
export interface Run {
  readonly name: string;
  readonly key: string;
  readonly fence: number;
  readonly content: Content;
  /** The adapter has handed the engine an answer, or the word that there is none. */
  isSettled: boolean;
}

const kinds = ["before", "after", "slow there", "slow back", "dies"] as const;
const sharesOf = ({ before, after, slowThere, slowBack, dies }: Strikes): readonly number[] => [
  before,
  after,
  slowThere,
  slowBack,
  dies,
];

export class TransactionsWorld {
  readonly plan: TransactionsPlan;
  readonly scheduler = new Scheduler();
  readonly trace: Trace;
  readonly omitted: Omissions;
  readonly violations: Violation[] = [];
  readonly machines: Machine[] = [];
  readonly runs: Run[] = [];
  /** What was ever sent with a key. */
  readonly asked = new Map<string, Set<Content>>();
  readonly fates: string[] = [];
  /** Bodies, by name, for whose transaction COMMIT was sent. */
  readonly commitsSent = new Set<string>();
  /** Those of which the database itself has said that nothing is committed. */
  readonly undone = new Set<string>();
  readonly counts = { messages: 0, commits: 0, faults: 0, deaths: 0, handlers: 0, answers: 0, lostCommits: 0 };
  /** The faults are over. */
  isQuiet = false;
  awayUntilMs = 0;
  /** Called when the answer of a run is about to be put on its transaction, by key and fence. */
  readonly onCompleting = new Map<string, () => void>();
  onKilled: (machine: Machine) => void = () => undefined;
  readonly #shares: readonly number[];
  readonly #aimed: readonly number[];

  constructor(plan: TransactionsPlan, omitted: Omissions, keepsTrace: boolean) {
    this.plan = plan;
    this.omitted = omitted;
    this.trace = new Trace(keepsTrace);
    this.#shares = sharesOf(plan.faults);
    this.#aimed = sharesOf(plan.aimed);
  }

  get nowMs(): number {
    return this.scheduler.nowMs;
  }

  /** The clock of the database. */
  databaseNowUs(): number {
    return Math.floor((epochMs + this.nowMs) * 1_000);
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
    const clocks = { rate: 1, wallAheadMs: 0 };
    const machine = new Machine(`${name}${number}`, number, this.plan.seed, this.scheduler, clocks);
    this.machines.push(machine);
    return machine;
  }

  newRun(key: string, fence: number, content: Content, machine: Machine): Run {
    const run = { name: `r${this.runs.length}`, key, fence, content, isSettled: false };
    this.runs.push(run);
    this.counts.handlers += 1;
    this.note(`${machine.name} runs ${key} as ${run.name}, fence ${fence}`);
    return run;
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
  fateOf(machine: Machine, what: string, isAimed: boolean): Fate {
    machine.sent += 1;
    this.counts.messages += 1;
    const { seed, callMs, locks } = this.plan;
    const random = createRandom(seed, machine.number, machine.sent, 11);
    const plain: Fate = {
      thereMs: random.between(0.1, 1),
      backMs: random.between(0.1, 1),
      lost: undefined,
      dies: false,
      // In a file there is nothing that could be silent.
      tells: random.chance(0.6) || locks === "file",
      seenMs: random.chance(0.5) ? 0 : random.between(0, 2_000),
    };
    const draw = random.next();
    const slowMs = random.between(20, callMs * 3);
    let sum = 0;
    const kind = kinds.find((_, index) => {
      sum += (this.#shares[index] ?? 0) + (isAimed ? (this.#aimed[index] ?? 0) : 0);
      return draw < sum;
    });
    if (kind === undefined || !this.strikes(`${machine.name} ${what} ${machine.sent} ${kind}`)) return plain;
    this.note(`${machine.name} ${what} meets: ${kind}`);
    if (kind === "slow there") return { ...plain, thereMs: slowMs };
    if (kind === "slow back") return { ...plain, backMs: slowMs };
    if (kind === "dies") return { ...plain, dies: true };
    return { ...plain, lost: kind };
  }
}
