/** Every call of the engine to its store: bounded by a deadline, timed, reported, and passing its fault points. */
import { DeadlineExceeded } from "../contract/deadline.ts";
import { DeadlinesByLength, type Ends } from "../contract/deadlines.ts";
import { limits } from "../contract/defaults.ts";
import { isInDoubt } from "../record-machine/claim.ts";
import type { Environment } from "../contract/environment.ts";
import { IchidoError, isDefect, isIchidoError, type IchidoErrorCode } from "../contract/errors.ts";
import type { IchidoListener } from "../contract/events.ts";
import type { FaultName, FaultPoint } from "../contract/faults.ts";
import { createLostClaims } from "./lost-claims.ts";
import type {
  Claim,
  ClaimOrigin,
  ClaimRequest,
  ClaimResult,
  EngineNote,
  Renewed,
  RenewRequest,
  Store,
} from "../contract/store.ts";
import type { Identity } from "../contract/record.ts";
import type { RunOptions, TransactionHandle, TransactionRunner } from "../contract/transaction.ts";
import { createTrouble } from "./trouble.ts";

/** The store did not do what was asked, and it is not known whether it will. Its code says whether waiting may help. */
export class StoreFailure extends IchidoError {
  override readonly name: string = "StoreFailure";
  readonly verb: string;
  constructor(store: string, verb: string, cause: unknown) {
    super(codeOf(cause), `the ${store} store failed at ${verb}: ${reasonOf(cause)}`, { cause });
    this.verb = verb;
  }
}

/** What no waiting mends is never called "unavailable", which would send nobody to look for it. */
export function codeOf(error: unknown): IchidoErrorCode {
  if (isIchidoError(error)) return error.retryable ? "store-unavailable" : error.code;
  return isDefect(error) ? "internal-error" : "store-unavailable";
}

/** For people: our own words, or a class and a code; never a driver's text, which may quote a key. */
function reasonOf(error: unknown): string {
  if (isIchidoError(error) || error instanceof DeadlineExceeded) return error.message;
  if (isDefect(error)) return `${error.name}: ${error.message}`;
  const { name, code } = Object(error) as { readonly name?: unknown; readonly code?: unknown };
  return [name, code].filter((word) => typeof word === "string").join(" ") || "it threw what is no error";
}

/** Verbs that are called as the store has them. */
type OwnedVerb = "complete" | "landed" | "release" | "suspend" | "startStep" | "finishStep";
type PlainVerb =
  | OwnedVerb
  | "steps"
  | "resources"
  | "log"
  | "note"
  | "forget"
  | "emptyReasons"
  | "find"
  | "list"
  | "settle"
  | "tick"
  | "sweep"
  | "ping";

export interface StoreCalls extends Pick<Store, PlainVerb> {
  /** Where it fails nothing must run: what it may have been granted is given back. */
  claim(request: ClaimRequest): Promise<ClaimResult>;
  /** Where it fails, the transaction undoes it, or the handler runs without a record: what is there stays in doubt. */
  claimAnyhow(request: ClaimRequest, transaction?: TransactionHandle): Promise<ClaimResult>;
  /** What this claim was granted, or still is, goes back. `ranUnder`: that fence in doubt, for a handler ran. */
  giveBackLater(claim: Pick<Claim, "identity" | "owner">, ranUnder?: number): void;
  /**
   * Before an identity is claimed: gives back what a claim of this process may have been granted unheard. Takes no longer
   * than one call, however many it makes.
   */
  lookForLost(identity: Identity): Promise<void> | undefined;
  /** The same for all identities, before `stop`. Never rejects. */
  lookForAllLost(): Promise<void>;
  /** Only where the store has the verb. */
  noteEngine(note: EngineNote): Promise<void>;
  renew(requests: readonly RenewRequest[], timeoutMs: number): Promise<readonly Renewed[]>;
  /** The runner's `run`; where the function was never called, it rejects with a `StoreFailure` at `begin`. */
  begin<Tx>(
    runner: TransactionRunner<Tx>,
    fn: (tx: Tx, handle: TransactionHandle) => Promise<void>,
    options: RunOptions,
  ): Promise<void>;
  /** Why transactions do not begin, which the store itself cannot tell: they have connections of their own. */
  readonly beginProblem: StoreFailure | undefined;
  stop(): void;
}

export interface StoreCallsParts {
  readonly store: Store;
  readonly environment: Environment;
  readonly timeoutMs: number;
  readonly emit: IchidoListener;
  /** Someone listens. Default: always. */
  readonly isHeard?: () => boolean;
  readonly faults: FaultPoint | undefined;
}

/** A walk over all keys may take as long as a store's `scanTimeoutMs` can be set to, and changes nothing. */
const listTimeoutMs = 3_600_000 + limits.storeSlackMs;

const never = Number.POSITIVE_INFINITY;

export function createStoreCalls(parts: StoreCallsParts): StoreCalls {
  const { store, environment, emit, isHeard = () => true, faults } = parts;
  const trouble = createTrouble(environment, emit);

  /** Routes differ in how long a claim may wait. */
  const deadlines = new DeadlinesByLength(environment);

  /** How a call ends: it is reported, and a failure says of what. */
  class CallEnds<T> implements Ends<T> {
    readonly #verb: string;
    readonly #startedMs = isHeard() ? environment.monotonicMs() : undefined;

    constructor(verb: string) {
      this.#verb = verb;
    }

    #report(error?: { readonly error: unknown }): void {
      if (this.#startedMs === undefined) return;
      const durationMs = environment.monotonicMs() - this.#startedMs;
      emit({ type: "store-call", store: store.name, verb: this.#verb, durationMs, ...error });
    }

    worked(_value: T): void {
      this.#report();
      trouble.worked(this.#verb);
    }

    failed(error: unknown): Error {
      this.#report({ error });
      const failure = new StoreFailure(store.name, this.#verb, error);
      trouble.failed(failure);
      return failure;
    }
  }

  function call<T>(
    verb: string,
    run: () => Promise<T>,
    timeoutMs = parts.timeoutMs,
    ends: Ends<T> & Pick<CallEnds<T>, "failed"> = new CallEnds<T>(verb),
  ): Promise<T> {
    let pending: Promise<T>;
    try {
      pending = run();
    } catch (error) {
      return Promise.reject(ends.failed(error));
    }
    return timeoutMs === never ? unbounded(pending, ends) : deadlines.bound(timeoutMs, pending, ends);
  }

  async function unbounded<T>(pending: Promise<T>, ends: Required<Pick<Ends<T>, "failed">> & Ends<T>): Promise<T> {
    let value: T;
    try {
      value = await pending;
    } catch (error) {
      throw ends.failed(error);
    }
    ends.worked?.(value);
    return value;
  }

  /** On a file that the transaction has to itself there is nothing to wait for. */
  function timeoutOn(transaction: TransactionHandle | undefined): number {
    return transaction?.writesAlone === true ? never : parts.timeoutMs;
  }

  /** Nothing ran: that must not end as a doubt. The fence makes it safe however late the store takes it. */
  async function giveBack({ identity, owner, fence }: Claim, origin: ClaimOrigin): Promise<void> {
    const claim = { identity, owner, fence };
    if (isInDoubt({ origin })) await call("suspend", () => store.suspend(claim));
    else await call("release", () => store.release(claim));
  }

  const lostClaims = createLostClaims({
    environment,
    find: (identity) => call("find", () => store.find(identity)),
    giveBack,
  });

  /** Whatever becomes of it, nothing runs in the name of a claim that failed. */
  class ClaimEnds extends CallEnds<ClaimResult> {
    readonly #request: ClaimRequest;

    constructor(request: ClaimRequest) {
      super("claim");
      this.#request = request;
    }

    override worked(result: ClaimResult): void {
      if (isUnheard(result)) lostClaims.add(this.#request);
      super.worked(result);
    }

    override failed(error: unknown): Error {
      const failure = super.failed(error);
      // What can never work was not granted either.
      if (codeOf(failure) === "store-unavailable") lostClaims.add(this.#request);
      return failure;
    }

    late(result: ClaimResult): void {
      if (result.outcome !== "granted") return;
      const { fence, origin } = result;
      void giveBack({ ...this.#request, fence }, origin).catch(() => lostClaims.add(this.#request));
    }
  }

  function claimOrGiveBack(request: ClaimRequest): Promise<ClaimResult> {
    const timeoutMs = parts.timeoutMs + (request.waitMs ?? 0);
    return call("claim", () => store.claim(request), timeoutMs, new ClaimEnds(request));
  }

  /** The look goes on, even if its caller stops waiting. */
  async function inTime(looking: Promise<void>): Promise<void> {
    try {
      await deadlines.bound(parts.timeoutMs, looking);
    } catch (error) {
      throw error instanceof StoreFailure ? error : new StoreFailure(store.name, "find", error);
    }
  }

  async function begin<Tx>(
    runner: TransactionRunner<Tx>,
    fn: (tx: Tx, handle: TransactionHandle) => Promise<void>,
    options: RunOptions,
  ): Promise<void> {
    let begun = false;
    const body = (tx: Tx, handle: TransactionHandle): Promise<void> => {
      begun = true;
      trouble.worked("begin");
      return fn(tx, handle);
    };
    try {
      await runner.run(body, options);
    } catch (error) {
      if (begun) throw error;
      const failure = new StoreFailure(store.name, "begin", error);
      trouble.failed(failure);
      throw failure;
    }
  }

  function around<T>(before: FaultName, after: FaultName, run: () => Promise<T>): Promise<T> {
    return faults === undefined ? run() : between(faults, before, after, run);
  }

  async function between<T>(
    faults: FaultPoint,
    before: FaultName,
    after: FaultName,
    run: () => Promise<T>,
  ): Promise<T> {
    await faults(before);
    const value = await run();
    await faults(after);
    return value;
  }

  return {
    claim: (request) =>
      faults === undefined
        ? claimOrGiveBack(request)
        : around("before-claim", "after-claim", () => claimOrGiveBack(request)),
    claimAnyhow: (request, transaction) =>
      around("before-claim", "after-claim", () =>
        call("claim", () => store.claim(request, transaction), timeoutOn(transaction) + (request.waitMs ?? 0)),
      ),
    giveBackLater: (claim, ranUnder) => lostClaims.add(claim, ranUnder),
    lookForLost(identity) {
      const looking = lostClaims.look(identity);
      return looking === undefined ? undefined : inTime(looking);
    },
    lookForAllLost: () => lostClaims.lookAtAll(),
    stop: () => lostClaims.stop(),
    renew: (requests, timeoutMs) =>
      around("before-renew", "after-renew", () => call("renew", () => store.renew(requests), timeoutMs)),
    complete: (request, transaction) =>
      around("before-complete", "after-complete", () =>
        call("complete", () => store.complete(request, transaction), timeoutOn(transaction)),
      ),
    landed: (request) => call("landed", () => store.landed(request)),
    release: (claim) => around("before-release", "after-release", () => call("release", () => store.release(claim))),
    suspend: (request) =>
      around("before-suspend", "after-suspend", () => call("suspend", () => store.suspend(request))),
    startStep: (request) =>
      around("before-step-start", "after-step-start", () => call("startStep", () => store.startStep(request))),
    finishStep: (request) =>
      around("before-step-finish", "after-step-finish", () => call("finishStep", () => store.finishStep(request))),
    steps: (identity) => call("steps", () => store.steps(identity)),
    resources: (identity) => call("resources", () => store.resources(identity)),
    log: (batch) => call("log", () => store.log(batch)),
    note: (note) => call("note", () => store.note(note)),
    forget: (request) => call("forget", () => store.forget(request)),
    // It looks through the whole audit.
    emptyReasons: (values) => call("emptyReasons", () => store.emptyReasons(values), listTimeoutMs),
    find: (identity) => call("find", () => store.find(identity)),
    list: (query) => call("list", () => store.list(query), listTimeoutMs),
    settle: (request) => call("settle", () => store.settle(request)),
    tick: (request) => call("tick", () => store.tick(request)),
    sweep: (request) => call("sweep", () => store.sweep(request), parts.timeoutMs + request.budgetMs),
    ping: () => call("ping", () => store.ping()),
    noteEngine: (note) => call("noteEngine", async () => store.noteEngine?.(note)),
    begin,
    get beginProblem() {
      return trouble.standing("begin");
    },
  };
}

/** Refused, but a copy of the claim may still be granted, which is then given back: its owner must not be used again. */
export function isUnheard(result: ClaimResult): boolean {
  return result.outcome !== "granted" && "unheard" in result;
}

/** The store says that it can never take this value, so trying again is of no use. */
export function isUnstorable(error: unknown): boolean {
  return error instanceof StoreFailure && isIchidoError(error.cause) && error.cause.code === "value-not-serialisable";
}

/** What to tell a caller, who is a stranger: the reason is in the log of the service. */
export function failureDetail(error: unknown): string {
  if (codeOf(error) !== "store-unavailable") return "The service is not set up as it must be; its log says why.";
  return error instanceof StoreFailure && error.cause instanceof DeadlineExceeded
    ? "the store did not answer in time"
    : "the store refused or could not be reached";
}
