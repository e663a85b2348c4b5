/** A store whose answers are lost, late or never come, call by call. */
import { IchidoError } from "../core/contract/errors.ts";
import { knownOptions } from "../core/contract/option-checks.ts";
import type { Store } from "../core/contract/store.ts";

/**
 * `fail`: refuses without effect. `hang`: never answers. `lose`: takes effect, then the reply is lost. `late`: takes
 * effect, and the reply waits for `arrive()`.
 */
export type StoreFault = "fail" | "hang" | "lose" | "late";

/** The verbs of a store that answer later. */
export type StoreVerb = {
  [Name in keyof Store]-?: NonNullable<Store[Name]> extends (...args: never[]) => Promise<unknown> ? Name : never;
}[keyof Store];

export interface FaultyStore extends Store {
  /** Applies to the next `times` calls of the verb (default: until `mend`). */
  break(verb: StoreVerb, fault: StoreFault, times?: number): void;
  mend(): void;
  /** Lets late replies through. */
  arrive(): void;
  /** The verbs that were called, in order. */
  readonly calls: string[];
}

type Verb = (...args: unknown[]) => Promise<unknown>;

/** Decides what becomes of a call, before it is made. */
type Judge = (verb: string) => StoreFault | undefined;

function withFaults(store: Store, judge: Judge, late: (() => void)[]): Store {
  const fault = async (name: string, call: () => Promise<unknown>): Promise<unknown> => {
    const kind = judge(name);
    if (kind === undefined) return call();
    if (kind === "hang") return new Promise(() => undefined);
    if (kind !== "fail") {
      const result = await call();
      if (kind === "late") return new Promise((resolve) => late.push(() => resolve(result)));
    }
    throw new Error(`${name} was made to ${kind}`);
  };
  return new Proxy(store, {
    get(target, name, receiver) {
      const value: unknown = Reflect.get(target, name, receiver);
      if (typeof value !== "function" || typeof name !== "string") return value;
      return (...args: unknown[]) => fault(name, () => (value as Verb).apply(target, args));
    },
  });
}

/** The store itself, but for what is broken on purpose. */
export function faultyStore(store: Store): FaultyStore {
  const faults = new Map<string, { readonly fault: StoreFault; left: number }>();
  const calls: string[] = [];
  const late: (() => void)[] = [];
  const judge: Judge = (verb) => {
    calls.push(verb);
    const entry = faults.get(verb);
    if (entry === undefined || entry.left <= 0) return undefined;
    entry.left -= 1;
    return entry.fault;
  };
  const extra: Omit<FaultyStore, keyof Store> = {
    calls,
    break: (verb, fault, times = Number.POSITIVE_INFINITY) => void faults.set(verb, { fault, left: times }),
    mend: () => faults.clear(),
    arrive: () => late.splice(0).forEach((reply) => reply()),
  };
  const faulty = withFaults(store, judge, late);
  return new Proxy(faulty, {
    get: (target, name, receiver) =>
      name in extra ? extra[name as keyof typeof extra] : (Reflect.get(target, name, receiver) as unknown),
  }) as FaultyStore;
}

export interface StoreFaultRun {
  /** Absent in the rehearsal, the run without a fault. */
  readonly verb: string | undefined;
  readonly nth: number;
  readonly fault: StoreFault | undefined;
  /** The store for the engine: what is to go wrong goes wrong there. */
  readonly wrap: (store: Store) => Store;
  /** Lets late replies through: before, or after, the caller tries again. */
  readonly arrive: () => void;
}

export interface EveryStoreFaultOptions {
  /** Default `fail`, `lose` and `late`. */
  readonly faults?: readonly StoreFault[];
  /** Default: every verb that the rehearsal called. */
  readonly verbs?: readonly StoreVerb[];
  /** How many calls of one verb are broken, at most. Default 3. */
  readonly nthMax?: number;
}

export interface StoreFaultReport {
  /** How many runs there were beside the rehearsal. */
  readonly runs: number;
  /** A line for each run. */
  readonly matrix: string;
}

const nthMaxDefault = 3;

/** Every run would hold, since no call of it is broken. */
function requireCalls(called: ReadonlyMap<string, number>, verbs: readonly string[] = []): void {
  if (called.size === 0) {
    throw new IchidoError(
      "usage-invalid",
      "everyStoreFault: the rehearsal called no verb of its store. Give the engine the store that the run wraps, " +
        "createIchido({ …, store: wrap(store) })",
    );
  }
  const unmet = verbs.filter((verb) => !called.has(verb));
  if (unmet.length === 0) return;
  throw new IchidoError(
    "usage-invalid",
    `everyStoreFault: the rehearsal never called ${unmet.join(", ")}; it called ${[...called.keys()].join(", ")}. Name ` +
      "verbs that the scenario uses, or leave the option verbs out for all of them",
  );
}

/**
 * Rehearses the scenario, then runs it again for each call that it made of its store, and loses, delays or refuses that
 * one. Rejects with the whole matrix when an invariant, or the scenario itself, failed anywhere; with `usage-invalid` when
 * no call would be broken.
 */
export async function everyStoreFault<World>(
  scenario: (run: StoreFaultRun) => Promise<World>,
  invariant: (world: World, run: StoreFaultRun) => void | Promise<void>,
  options: EveryStoreFaultOptions = {},
): Promise<StoreFaultReport> {
  knownOptions("everyStoreFault", options, { faults: true, verbs: true, nthMax: true });
  const { faults = ["fail", "lose", "late"], nthMax = nthMaxDefault } = options;
  const lines: string[] = [];
  const errors: unknown[] = [];

  async function attempt(verb?: string, nth = 0, fault?: StoreFault): Promise<ReadonlyMap<string, number>> {
    const called = new Map<string, number>();
    const late: (() => void)[] = [];
    const judge: Judge = (name) => {
      const times = (called.get(name) ?? 0) + 1;
      called.set(name, times);
      return name === verb && times === nth ? fault : undefined;
    };
    const arrive = (): void => late.splice(0).forEach((reply) => reply());
    const run: StoreFaultRun = { verb, nth, fault, wrap: (store) => withFaults(store, judge, late), arrive };
    const name = verb === undefined ? "no fault" : `${verb} #${nth} ${fault}`;
    try {
      await invariant(await scenario(run), run);
      lines.push(`${name.padEnd(24)} holds`);
    } catch (error) {
      errors.push(error);
      lines.push(`${name.padEnd(24)} BROKEN  ${String(error).split("\n")[0]}`);
    } finally {
      arrive();
    }
    return called;
  }

  const called = await attempt();
  if (errors.length === 0) requireCalls(called, options.verbs);
  for (const verb of options.verbs ?? called.keys()) {
    for (let nth = 1; nth <= Math.min(called.get(verb) ?? 0, nthMax); nth += 1) {
      for (const fault of faults) await attempt(verb, nth, fault);
    }
  }
  if (lines.length === 1 && errors.length === 0) {
    throw new IchidoError(
      "usage-invalid",
      "everyStoreFault: the options verbs, faults and nthMax leave no call to break",
    );
  }
  const matrix = lines.join("\n");
  if (errors.length > 0) {
    throw new AggregateError(errors, `${errors.length} of ${lines.length} runs broke the invariant:\n${matrix}`);
  }
  return { runs: lines.length - 1, matrix };
}
