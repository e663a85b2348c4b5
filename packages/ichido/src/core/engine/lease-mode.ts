/** Lease mode: the key is claimed, the handler runs under a lease, and its outcome is written down behind a fence. */
import { recover } from "./doubt.ts";
import { isInDoubt, stillProcessing } from "../record-machine/claim.ts";
import { claimFinds } from "../record-machine/seen.ts";
import type { EngineParts } from "./engine-parts.ts";
import { LeaseAttempt } from "./lease-attempt.ts";
import { claimRequestOf, rulingOf, type Ask, type Grant, type Ruling } from "./ruling.ts";
import type { Running } from "./running.ts";
import { localIdOf } from "../request/scope.ts";
import { spanned } from "../contract/tracing.ts";
import type { ClaimResult } from "../contract/store.ts";
import { isUnheard, StoreFailure } from "./store-calls.ts";
import { createWaiting, type Waiting } from "./waiting.ts";

export interface LeaseMode {
  rule(ask: Ask<never>): Promise<Ruling>;
  /** Duplicates that wait in this process. */
  readonly waiting: number;
}

/** Another attempt is at work, or may be: for how long is not known. */
const inFlight: Ruling = rulingOf(stillProcessing);

/** The claims of one caller. */
class Claims {
  readonly #parts: EngineParts;
  readonly #ask: Ask<never>;
  owner;
  /** When the last one was sent: its lease may have begun then. */
  sentMs = 0;

  constructor(parts: EngineParts, ask: Ask<never>) {
    this.#parts = parts;
    this.#ask = ask;
    this.owner = parts.newOwner();
  }

  /** `runsAnyhow`: the handler runs where this fails, so that nothing is given back, and no look is waited for. */
  send(runsAnyhow: boolean): Promise<ClaimResult> {
    const { calls, ownOutcomes } = this.#parts;
    const looking = runsAnyhow ? undefined : calls.lookForLost(this.#ask.identity);
    if (looking === undefined && !ownOutcomes.has(this.#ask.identity)) return this.#claim(runsAnyhow);
    return this.#claimAfter(looking, runsAnyhow);
  }

  async #claimAfter(looking: Promise<void> | undefined, runsAnyhow: boolean): Promise<ClaimResult> {
    if (looking !== undefined) await looking;
    // The last thing before the claim, for such an outcome may come up at any time.
    if (!(await this.#parts.ownOutcomes.write(this.#ask.identity))) return stillProcessing;
    return this.#claim(runsAnyhow);
  }

  async #claim(runsAnyhow: boolean): Promise<ClaimResult> {
    const { calls, running, settings } = this.#parts;
    // After all that was waited for: closing may have ended meanwhile.
    if (running.isClosed) return stillProcessing;
    this.sentMs = settings.environment.monotonicMs();
    const request = claimRequestOf(this.#ask, this.owner);
    running.claimSent();
    try {
      const result = await spanned(this.#ask.span?.child("idempotency.claim"), () =>
        runsAnyhow ? calls.claimAnyhow(request) : calls.claim(request),
      );
      if (isUnheard(result)) {
        // Refused, so that nothing runs in its name after all.
        if (runsAnyhow) calls.giveBackLater(request);
        this.owner = this.#parts.newOwner();
      }
      return result;
    } finally {
      running.claimAnswered();
    }
  }

  /**
   * Once the store has named another attempt, a failure to ask again changes nothing about it. But the question may still
   * be granted, and is given back then: the next question must not come from the same owner. Only in observe mode does
   * the handler run after that.
   */
  async sendAgain(): Promise<ClaimResult> {
    try {
      return await this.send(!this.#ask.route.enforce);
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      this.owner = this.#parts.newOwner();
      return stillProcessing;
    }
  }
}

function execute(attempt: LeaseAttempt): Ruling {
  attempt.started = true;
  return { kind: "execute", execution: attempt };
}

/** Of two grants of this process the greater fence is the true one, however long ago the other seems to be. */
function mayStart(running: Running, attempt: LeaseAttempt): boolean {
  return !running.isClosing && running.isLatest(attempt);
}

export function createLeaseMode(parts: EngineParts): LeaseMode {
  const { settings, calls, running } = parts;
  const { environment, faults, store, waitersMax } = settings;
  const waiting: Waiting = createWaiting({ environment, store, waitersMax, isOver: () => running.isClosed });

  function startAttempt(ask: Ask<never>, { owner, sentMs }: Claims, grant: Grant): Ruling | Promise<Ruling> {
    const claim = { identity: ask.identity, owner, fence: grant.fence };
    const attempt = new LeaseAttempt(parts, { ask, claim, grant }, sentMs);
    running.add(attempt);
    // Mostly there is nothing to find out, and nothing to wait for.
    const isPlain = mayStart(running, attempt) && !isInDoubt(grant) && faults === undefined && attempt.isTrusted();
    return isPlain ? execute(attempt) : startWithCare(attempt);
  }

  async function startWithCare(attempt: LeaseAttempt): Promise<Ruling> {
    if (!mayStart(running, attempt)) {
      await attempt.giveBack();
      return inFlight;
    }
    try {
      return await beginOrRecover(attempt);
    } catch (error) {
      // The handler was never called, but a `verify` may have been under way: no caller may have to wait for its lease to
      // end.
      await attempt.handOver();
      throw error;
    }
  }

  async function beginOrRecover(attempt: LeaseAttempt): Promise<Ruling> {
    const recovered = await recover(parts, attempt);
    if (recovered.kind === "found") {
      const isStored = (await attempt.adopt(recovered.response)) === "ok";
      return isStored ? { kind: "replay", stored: recovered.response, waited: false } : inFlight;
    }
    if (recovered.kind === "open") {
      await attempt.handOver();
      return { kind: "not-visible-yet" };
    }
    await faults?.("before-handler");
    if (!attempt.isTrusted() || !running.isLatest(attempt)) {
      // Recovery, or the claim itself, took longer than the lease allows: someone else may be at work already.
      await attempt.giveBack();
      return inFlight;
    }
    return execute(attempt);
  }

  function waitForAnswer(ask: Ask<never>, claims: Claims, waitMs: number): Promise<ClaimResult | "crowded"> {
    const { identity, fingerprint } = ask;
    return waiting.wait({
      id: localIdOf(identity),
      content: Buffer.from(fingerprint.canonical).toString("latin1"),
      identity,
      waitMs,
      claim: () => claims.sendAgain(),
      local: () => running.find(identity)?.done,
    });
  }

  return {
    async rule(ask) {
      const { identity } = ask;
      const { dangerouslyRunWithoutStore, enforce, inFlight, profile } = ask.route;
      const claims = new Claims(parts, ask);
      // The store may be away, but an attempt of this very process is known to run.
      const isHere = dangerouslyRunWithoutStore && running.find(identity) !== undefined;
      let result = await (isHere ? claims.sendAgain() : claims.send(dangerouslyRunWithoutStore || !enforce));
      let waited = false;
      if (result.outcome === "processing" && typeof inFlight === "object" && enforce) {
        const answer = await waitForAnswer(ask, claims, inFlight.waitMs);
        if (answer !== "crowded") result = answer;
        waited = true;
      }
      if (result.outcome === "processing" && profile.unknownStatus === 202) {
        // While a reconciler looks into an open outcome it holds the record; callers still get the interim answer.
        const record = await calls.find(identity);
        if (record?.interim !== undefined) return { kind: "unknown", interim: record.interim };
        // It was settled between the two questions: what is true now, not "in flight".
        if (claimFinds(record) !== "owner") result = await claims.sendAgain();
      }
      if (result.outcome === "granted") return startAttempt(ask, claims, result);
      const ruling = rulingOf(result);
      return ruling.kind === "replay" ? { ...ruling, waited } : ruling;
    },
    get waiting() {
      return waiting.size;
    },
  };
}
