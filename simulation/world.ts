/** What one history shares: its time, its trace, what is known of every record, and what was found wrong. */
import type { Identity } from "../packages/ichido/src/core/contract/record.ts";
import type { ClaimRequest, ClaimResult, Step, StoredRecord } from "../packages/ichido/src/core/contract/store.ts";
import type { RowWrite } from "./database.ts";
import { Machine, epochMs } from "./machine.ts";
import type { Plan, ProviderKind, RoutePlan } from "./plan.ts";
import { mixed } from "./random.ts";
import { Scheduler } from "./scheduler.ts";
import { Trace } from "./trace.ts";

export interface Violation {
  readonly invariant: string;
  readonly atMs: number;
  readonly detail: string;
}

/** Left out of a history, to see whether it still goes wrong. */
export interface Omissions {
  /** Invariants that are not looked at. */
  readonly invariants?: ReadonlySet<string>;
  readonly items: ReadonlySet<number>;
  readonly fates: ReadonlySet<string>;
}

export const nothingOmitted: Omissions = { items: new Set(), fates: new Set() };

/** What the store held after the last call about a record, and what the watcher must remember of its past. */
export interface Seen {
  readonly id: string;
  record: StoredRecord | undefined;
  /** Counts up each time the identity runs as new. */
  life: number;
  /** When its present life began. */
  bornMs: number;
  fenceMax: number;
  /** Bodies that were stored, by life. */
  readonly answers: Map<number, string>;
  /** When each of them ends, by the store's clock. */
  readonly endsMs: Map<string, number>;
  /** When a process last heard of the record by a claim. */
  readonly heardMs: Map<Machine, number>;
  /** That it was done was stored, but not its answer. */
  isForgotten: boolean;
  /** How the present fence was come by, as the store saw it when it was first given. */
  origin: "new" | "failed" | "lapsed" | "suspended" | "person" | undefined;
  /** Fences under which a handler began, and those for which the outside world was asked and said "absent". */
  readonly begun: Set<number>;
  readonly cleared: Set<number>;
  /** A person holds the record, since this moment. */
  heldByPerson: boolean;
  /** A person released the record and no step has been started since. */
  releasedByPerson: boolean;
  /** When the record last stopped being sealed (on hold or with an interim answer). */
  sealedUntilMs: number;
  /** By the store's clock, from what the owner was granted: the record's own word is not taken for it. */
  leaseUntilMs: number | undefined;
  /** Steps, by fence and name, whose start was refused and told so. */
  readonly refusedSteps: Set<string>;
  /** As the store has them. */
  steps: readonly Step[];
  /** When the store last noted the start of a step, by fence and name. */
  readonly starts: Map<string, number>;
  /** Fences of attempts with nothing in doubt, and whose claim was granted them. */
  readonly granted: Map<number, { readonly machine: Machine; readonly atMs: number; readonly ask: string }>;
  /** How the store answered a question: one that waits asks several, each of which may be sent more than once. */
  readonly asked: WeakMap<ClaimRequest, ClaimResult["outcome"]>;
  /** Claims by a process with an outcome of its own for the fence, which it should have written first. */
  readonly hasty: Map<string, number>;
  /** Fences of which something was said when their lease was over: since when is not to be seen any more. */
  readonly disturbed: Set<number>;
  /** Claims by which the outside world is asked about a record in doubt. */
  readonly askers: Set<string>;
  /** Nobody has claimed its present life but to ask, so that nothing can have run in it. */
  isOnlyAsked: boolean;
  /** Fences under which an answer was stored, and those under which one was written on a transaction. */
  readonly completed: Set<number>;
  readonly written: Set<number>;
  /** What was ever asked for under the key. */
  readonly intents: Set<string>;
  /** Fences whose commit did not land, as the store has told. */
  readonly notLanded: Set<number>;
  owners: Map<string, Machine>;
}

/** An effect in the outside world. */
export interface Effect {
  readonly intent: string;
  readonly call: string;
  readonly kind: ProviderKind | "row";
  readonly reference: string;
  readonly key: string;
  readonly atMs: number;
  readonly life: string;
  readonly number: number;
  readonly isPromised: boolean;
}

export interface Run {
  readonly id: string;
  readonly intent: string;
  readonly machine: Machine;
  readonly fence: number;
  readonly attempt: number;
  readonly life: number;
  readonly startedMs: number;
  endedMs: number | undefined;
  /** The handler came to an answer that must be kept, with this body. */
  kept: string | undefined;
  /** A step stopped it: the record is left open, or on hold. */
  isOpen: boolean;
  /** It waits for the end of its transaction. */
  isCommitting: boolean;
  /** It said that nothing was done, and ended. */
  hasGivenBack: boolean;
  /** Its process has sent word that it is left open, before it came to its end. */
  isLeft: boolean;
  /** A step told one of its branches that the key is another's. */
  isLost: boolean;
  /** Branches under way, which may outlast it. */
  branches: number;
  /** Steps that called out. */
  readonly called: Set<string>;
  /** Told to the handler when it must stop. */
  readonly signal: AbortSignal | undefined;
}

/** What a store keeps to that has lost a write: of the record that it holds, nobody but its owner writes. */
const keptByForgetful: ReadonlySet<string> = new Set(["stale-accepted", "stale-changed", "two-winners", "crashed"]);

export class World {
  readonly plan: Plan;
  readonly scheduler = new Scheduler();
  readonly trace: Trace;
  readonly omitted: Omissions;
  readonly violations: Violation[] = [];
  readonly seen = new Map<string, Seen>();
  readonly effects: Effect[] = [];
  readonly runs: Run[] = [];
  /** Requests whose handler ran although their claim had failed: what they were granted unheard is truly in doubt. */
  readonly unprotected = new Set<string>();
  /** When a process sent a claim, whenever it arrives. */
  readonly sentMs = new WeakMap<ClaimRequest, number>();
  /** Claims that their sender has sent a second time. */
  readonly sentAgain = new WeakSet<ClaimRequest>();
  readonly machines: Machine[] = [];
  readonly fates: string[] = [];
  readonly counts = { storeCalls: 0, faults: 0, takeovers: 0, replays: 0, lost: 0, answers: 0, handlers: 0 };
  /** Faults have ended; handlers come to their end and messages arrive. */
  isQuiet = false;
  hasJumped = false;
  /** The store answers a claim, and forgets what it has granted. */
  forgetsForMs: number | undefined;
  /** It has: what was done under that grant may be done again. */
  hasForgotten = false;
  #storeAheadMs = 0;
  #standsUntilMs = 0;
  #standsAtMs = 0;
  outages: {
    readonly fromMs: number;
    readonly toMs: number;
    readonly machine: Machine | undefined;
    readonly refuses: boolean;
  }[] = [];
  blindUntilMs = 0;

  constructor(plan: Plan, omitted: Omissions, keepsTrace: boolean) {
    this.plan = plan;
    this.omitted = omitted;
    this.trace = new Trace(keepsTrace);
  }

  #requests = 0;

  nextRequest(): number {
    this.#requests += 1;
    return this.#requests;
  }

  get nowMs(): number {
    return this.scheduler.nowMs;
  }

  storeNowMs(): number {
    if (this.nowMs < this.#standsUntilMs) return this.#standsAtMs;
    return Math.floor(epochMs + this.nowMs + this.#storeAheadMs);
  }

  jumpStore(byMs: number): void {
    this.#storeAheadMs += byMs;
    this.hasJumped = true;
  }

  /** The store has come back as it was before its last write, and its clock stands. */
  forgot(standsMs: number): void {
    this.hasForgotten = true;
    this.hasJumped = true;
    this.#standsAtMs = this.storeNowMs();
    this.#standsUntilMs = this.nowMs + standsMs;
    this.#storeAheadMs -= standsMs;
  }

  note(line: string): void {
    this.trace.note(this.nowMs, line);
  }

  violate(invariant: string, detail: string): void {
    this.note(`VIOLATION ${invariant}: ${detail}`);
    if (this.omitted.invariants?.has(invariant) === true) return;
    if (this.hasForgotten && !keptByForgetful.has(invariant)) return;
    if (this.violations.length === 0) this.violations.push({ invariant, atMs: this.nowMs, detail });
    this.scheduler.isStopped = true;
  }

  newMachine(name: string, clocks: { readonly drifts: boolean }): Machine {
    const number = this.machines.length;
    const rate = clocks.drifts ? 1 + this.plan.drift * (number % 2 === 0 ? 1 : -1) : 1;
    const wallAheadMs = (mixed(this.plan.seed, number, 5) % 7_200_000) - 3_600_000;
    const machine = new Machine(`${name}${number}`, number, this.plan.seed, this.scheduler, { rate, wallAheadMs });
    this.machines.push(machine);
    return machine;
  }

  /** Set by the fleet, which puts another in its place. */
  onKilled: (machine: Machine) => void = () => undefined;

  readonly #goneWatchers = new Map<Machine, Set<() => void>>();

  /** Called when the process is no more, however it ended. */
  onceGone(machine: Machine, run: () => void): () => void {
    const told = this.#goneWatchers.get(machine) ?? new Set();
    this.#goneWatchers.set(machine, told);
    told.add(run);
    return () => told.delete(run);
  }

  gone(machine: Machine): void {
    const told = [...(this.#goneWatchers.get(machine) ?? [])];
    this.#goneWatchers.delete(machine);
    for (const run of told) run();
  }

  /** Set by the fleet. */
  onClosing: (machine: Machine) => void = () => undefined;

  /** Set by the history: somebody opens the console. */
  onMeddling: (wish: "hold" | "settle") => void = () => undefined;

  kill(machine: Machine): void {
    if (!machine.isAlive || this.isQuiet) return;
    this.note(`${machine.name} dies`);
    machine.kill();
    this.onKilled(machine);
    this.gone(machine);
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

  /** A row of the user's own, committed. */
  wroteRow({ intent, call, key, life, fence }: RowWrite): void {
    const number = this.effects.length + 1;
    this.note(`ROW ${number}: ${call} of ${intent}`);
    const former = this.effects.find(
      (each) => each.kind === "row" && each.key === key && each.intent === intent && each.life === life,
    );
    const reference = `row ${fence}`;
    this.effects.push({ intent, call, kind: "row", reference, key, atMs: this.nowMs, life, number, isPromised: true });
    if (former !== undefined) this.violate("row-twice", `${call} of ${intent}: rows ${former.number} and ${number}`);
  }

  route(operation: string): RoutePlan {
    const route = this.plan.routes.find((each) => each.operation === operation);
    if (route === undefined) throw new Error(`no route ${operation}`);
    return route;
  }

  seenOf(identity: Pick<Identity, "key" | "principal" | "operation">): Seen {
    const id = idOf(identity);
    let seen = this.seen.get(id);
    if (seen === undefined) {
      seen = {
        id,
        record: undefined,
        life: 0,
        bornMs: 0,
        fenceMax: 0,
        answers: new Map(),
        endsMs: new Map(),
        heardMs: new Map(),
        isForgotten: false,
        origin: undefined,
        begun: new Set(),
        cleared: new Set(),
        heldByPerson: false,
        releasedByPerson: false,
        sealedUntilMs: -1,
        leaseUntilMs: undefined,
        refusedSteps: new Set(),
        steps: [],
        starts: new Map(),
        granted: new Map(),
        asked: new WeakMap(),
        hasty: new Map(),
        disturbed: new Set(),
        askers: new Set(),
        isOnlyAsked: false,
        completed: new Set(),
        written: new Set(),
        intents: new Set(),
        notLanded: new Set(),
        owners: new Map(),
      };
      this.seen.set(id, seen);
    }
    return seen;
  }
}

export function idOf({ key, principal, operation }: Pick<Identity, "key" | "principal" | "operation">): string {
  return `${operation}/${principal ?? ""}/${key}`;
}

/** Somebody has it in work, or had it and left it in doubt. */
export function isOpen(record: StoredRecord | undefined): record is StoredRecord {
  return record?.state === "processing" || record?.state === "unknown";
}

export function isSealed(record: StoredRecord | undefined): boolean {
  return isOpen(record) && (record.interim !== undefined || record.holdReason !== undefined);
}
