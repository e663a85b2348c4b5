/** What the state of a record means for a request: every one to a protected route, and every `run`, is decided here. */
import { createDecide } from "./decide.ts";
import type { Decision } from "./decision.ts";
import { sleep, withDeadline } from "./deadline.ts";
import { Deadlines } from "./deadlines.ts";
import { limits } from "./defaults.ts";
import { isInDoubt } from "./doubt.ts";
import { catalogue, IchidoError } from "./errors.ts";
import type { IchidoEvent } from "./events.ts";
import { createExecution, type Grant, type LiveExecution } from "./execution.ts";
import { healthOf, type Health } from "./health.ts";
import { createHeartbeat } from "./heartbeat.ts";
import { createHousekeeping } from "./housekeeping.ts";
import { createIdleMounts } from "./idle-mounts.ts";
import { createLateWrites } from "./late-writes.ts";
import { createLife } from "./life.ts";
import type { NeutralRequest, NeutralResponse } from "./message.ts";
import { optionInvalid } from "./option-checks.ts";
import type { Decider, ResolvedRoute } from "./options.ts";
import { createOwners } from "./owner.ts";
import type { OwnerToken, StoredResponse } from "./record.ts";
import { recover } from "./recovery.ts";
import { isFinalStatus, replayOf } from "./recorder.ts";
import { createReplayCache } from "./replay-cache.ts";
import { createRefusals } from "./refusals.ts";
import type { Ask, Ruling } from "./ruling.ts";
import { keyHashOf, localIdOf } from "./scope.ts";
import { createSilentHandlers } from "./silent-handlers.ts";
import type { ClaimRequest, ClaimResult, SweepResult } from "./store.ts";
import { codeOf, createStoreCalls, failureDetail, StoreFailure } from "./store-calls.ts";
import { createTransactionMode } from "./transaction-mode.ts";
import { checked, resolveRoute, type ResolvedEngine } from "./validate-options.ts";
import { createWaiting, stillProcessing } from "./waiting.ts";

export interface Engine<Native> {
  decide(request: NeutralRequest<Native>, route: ResolvedRoute<Native>): Promise<Decision>;
  rule(ask: Ask<Native>): Promise<Ruling>;
  route: Decider<Native>["route"];
  readonly closing: boolean;
  start(): Promise<void>;
  sweep(): Promise<SweepResult>;
  health(): Promise<Health>;
  close(): Promise<void>;
}

function ignore(): void {}

export function createEngine<Native>(
  settings: ResolvedEngine<Native>,
  emit: (event: IchidoEvent) => void,
): Engine<Native> {
  const { store, environment, faults } = settings;
  const calls = createStoreCalls({ store, environment, timeoutMs: settings.storeTimeoutMs, emit, faults });
  const heartbeat = createHeartbeat({ calls, environment, executionMs: settings.executionMs });
  const lateWrites = createLateWrites({ environment, executionMs: settings.executionMs });
  const waiting = createWaiting({ environment, store, waitersMax: settings.waitersMax, isOver: () => closed });
  const refusals = createRefusals(settings.format, settings.operationIds);
  const engineRoute = resolveRoute(settings.shared, { operation: checked });
  const housekeeping = createHousekeeping({
    calls,
    environment,
    emit,
    sweepMs: settings.sweepMs,
    retentionMs: engineRoute.retentionMs,
  });
  const life = createLife({ calls, housekeeping, emit });
  const silentHandlers = createSilentHandlers({
    environment,
    emit,
    executionMs: settings.executionMs,
    afterMs: Math.min(limits.handlerSilentMs, settings.executionMs / 2),
  });
  const idleMounts = createIdleMounts(emit);
  const cache =
    settings.replayCache === undefined ? undefined : createReplayCache({ environment, ...settings.replayCache });
  const newOwner = createOwners(environment);
  const executions = new Map<string, LiveExecution>();
  const bodies = new Deadlines(environment, settings.transactionMs);
  const background = new Set<Promise<void>>();
  let closing = false;
  /** Closing waits no longer: nothing more is claimed. */
  let closed = false;
  let warnedRetention = false;
  /** Refusals that no call of the store has told of, each once. */
  const told = new Set<string>();

  function noteRetention(retentionMs: number): void {
    housekeeping.cover(retentionMs);
    if (warnedRetention || retentionMs >= limits.retentionMsAdvised) return;
    warnedRetention = true;
    const message = `retentionMs ${retentionMs} is below 24 hours: a retry that comes later than that runs again`;
    life.warn("short-retention", message);
  }
  noteRetention(engineRoute.retentionMs);

  function checkMode(mode: "lease" | "transaction"): void {
    if (mode === "lease") return;
    if (settings.transactions === undefined) {
      throw optionInvalid("mode", '"transaction" only beside the engine\'s option transactions', mode);
    }
    if (store.capabilities.transactionMode !== true) {
      throw optionInvalid(
        "mode",
        `"lease" with the ${store.name} store, which cannot claim inside a transaction`,
        mode,
      );
    }
  }

  function track(work: Promise<void>): void {
    background.add(work);
    void work.finally(() => background.delete(work));
  }

  /** The fence was lost: what the record says now is the answer, not what the late attempt made. */
  async function truthOf(ask: Ask<Native>, isUndone = false): Promise<NeutralResponse> {
    const { identity, route } = ask;
    try {
      const record = await calls.find(identity);
      if (record?.state === "completed" && record.response !== undefined) return answerFor(ask, record.response);
      if (record?.state === "processing" && (record.leaseLeftMs ?? 0) > 0) {
        return refusals.inFlight(route, identity, record.leaseLeftMs ?? 0);
      }
      // Nothing was left of the late attempt, nor of the one that stood in its way: the next one may run.
      if (isUndone && (record === undefined || record.state === "failed")) return unavailable(undefined);
      // Lost while nobody took over: the next request runs or asks, unless only a person may end it.
      const isFinal = route.onUnknown === "hold" || record?.holdReason !== undefined || record?.interim !== undefined;
      return isFinal ? refusals.unknown(route, identity, record ?? {}) : refusals.inFlight(route, identity, 0);
    } catch (error) {
      return unavailable(error);
    }
  }

  function answerFor(ask: Ask<Native>, stored: StoredResponse): NeutralResponse {
    if (!isFinalStatus(stored.status)) return refusals.unsendable(stored);
    return stored.kind === "tombstone" ? refusals.notStored(stored) : replayOf(stored, ask.route.profile);
  }

  function requestFor(ask: Ask<Native>, owner: OwnerToken, waitMs?: number): ClaimRequest {
    const { route } = ask;
    return {
      identity: ask.identity,
      owner,
      fingerprint: ask.fingerprint,
      leaseMs: route.leaseMs,
      retentionMs: route.retentionMs,
      takeover: route.onUnknown === "hold" ? "none" : "lapsed",
      doubtStays: route.onUnknown !== "rerun",
      ...(ask.labels === undefined ? {} : { labels: ask.labels }),
      ...(waitMs === undefined ? {} : { waitMs }),
    };
  }

  function executionFor(ask: Ask<Native>, owner: OwnerToken, grant: Grant, claimedMs: number): LiveExecution {
    const id = localIdOf(ask.identity);
    const execution = createExecution({
      claim: { identity: ask.identity, owner, fence: grant.fence },
      grant,
      route: ask.route,
      startedMs: environment.monotonicMs(),
      claimedMs,
      calls,
      heartbeat,
      environment,
      emit,
      faults,
      lateWrites,
      giveBackLater: () => calls.giveBackLater(requestFor(ask, owner)),
      verifyMs: settings.verifyMs,
      transactions: settings.transactions,
      truth: (isUndone) => truthOf(ask, isUndone),
      openAnswer: (holdReason) =>
        holdReason === undefined
          ? refusals.notVisibleYet(ask.route, ask.identity)
          : refusals.unknown(ask.route, ask.identity, { holdReason }),
      storeTimeoutMs: settings.storeTimeoutMs,
      executions: bodies,
      executionMs: settings.executionMs,
      onKept: (stored) => {
        // Counted from before the claim was sent, so that the entry never outlives its record.
        const ageMs = environment.monotonicMs() - ask.startedMs;
        if (grant.origin === "new") remember(ask, stored, grant.expiresAtMs - grant.createdAtMs - ageMs);
      },
      onDone: () => {
        if (executions.get(id) === execution) executions.delete(id);
      },
    });
    executions.set(id, execution);
    return execution;
  }

  async function granted(ask: Ask<Native>, owner: OwnerToken, grant: Grant, claimedMs: number): Promise<Ruling> {
    const execution = executionFor(ask, owner, grant, claimedMs);
    if (closing) {
      await execution.giveBack();
      return { kind: "in-flight", leaseLeftMs: 1_000 };
    }
    try {
      return await begun(ask, execution, grant);
    } catch (error) {
      // The handler was never called, but a `verify` may have been under way: nobody may wait out a lease for it.
      await execution.handOver();
      throw error;
    }
  }

  async function begun(ask: Ask<Native>, execution: LiveExecution, grant: Grant): Promise<Ruling> {
    if (isInDoubt(grant)) {
      const { identity, route } = ask;
      emit({ type: "takeover", operation: identity.operation, keyHash: keyHashOf(identity), attempt: grant.attempt });
      const { onUnknown } = route;
      const { verifyMs } = settings;
      const recovered = await recover({ execution, identity, onUnknown, verifyMs, environment, emit });
      if (recovered.kind === "found") return { kind: "replay", stored: recovered.response, waited: false };
      if (recovered.kind === "open") return { kind: "not-visible-yet" };
      if (recovered.kind === "lost") return { kind: "in-flight", leaseLeftMs: 1_000 };
    }
    await faults?.("before-handler");
    if (!execution.isTrusted()) {
      // Recovery, or the claim itself, took longer than the lease allows: someone else may be at work already.
      await execution.giveBack();
      return { kind: "in-flight", leaseLeftMs: 1_000 };
    }
    execution.started = true;
    return { kind: "execute", execution };
  }

  /** Remembers a completed answer for no longer than its record lives, however long the store's word was under way. */
  function remember(ask: Ask<Native>, stored: StoredResponse, leftMs: number): void {
    cache?.put(localIdOf(ask.identity), { fingerprint: ask.fingerprint, stored, leftMs });
  }

  function rule(ask: Ask<Native>): Promise<Ruling> {
    life.begin();
    const cached = cache?.get(localIdOf(ask.identity), ask.fingerprint);
    if (cached !== undefined) return Promise.resolve({ kind: "replay", stored: cached, waited: false });
    const ruling =
      ask.route.mode === "transaction" && transactionMode !== undefined ? transactionMode.rule(ask) : ruleByLease(ask);
    // A claim under way may be granted: closing waits until it is given back.
    track(ruling.then((ruled) => watchHandler(ask, ruled), ignore));
    return ruling;
  }

  function watchHandler({ route }: Ask<Native>, ruling: Ruling): void {
    if (ruling.kind === "execute") silentHandlers.watch(ruling.execution, route);
  }

  async function ruleByLease(ask: Ask<Native>): Promise<Ruling> {
    const { dangerouslyRunWithoutStore, enforce, inFlight } = ask.route;
    let owner = newOwner();
    let claimedMs = environment.monotonicMs();
    /** `runsAnyhow`: the handler runs where this fails, so that nothing is given back, and nobody waits for a look. */
    const claim = async (runsAnyhow: boolean): Promise<ClaimResult> => {
      const looking = runsAnyhow ? undefined : calls.lookForLost(ask.identity);
      if (looking !== undefined) await looking;
      // An outcome of this process that the store does not have yet goes first: the claim could take its record over. It is
      // the last thing before the claim, for such an outcome may come up at any time.
      if (lateWrites.size > 0 && !(await lateWrites.flush(localIdOf(ask.identity)))) return stillProcessing;
      // After all that was waited for: closing may have ended meanwhile.
      if (closed) return stillProcessing;
      claimedMs = environment.monotonicMs();
      const request = requestFor(ask, owner);
      return runsAnyhow ? calls.claimAnyhow(request) : calls.claim(request);
    };
    /**
     * Once the store has told of another attempt, a failure to ask again changes nothing of that. But the question may still
     * be granted, and is given back then: whoever asks after it must not be taken for the same owner. Only in observe mode does
     * the handler run after that.
     */
    const claimAgain = (): Promise<ClaimResult> =>
      claim(!enforce).catch((error: unknown) => {
        if (!(error instanceof StoreFailure)) throw error;
        owner = newOwner();
        return stillProcessing;
      });
    // The store may be away, but an attempt of this very process is known to run.
    const isHere = dangerouslyRunWithoutStore && executions.has(localIdOf(ask.identity));
    let result = await (isHere ? claimAgain() : claim(dangerouslyRunWithoutStore || !enforce));
    let waited = false;
    if (result.outcome === "processing" && typeof inFlight === "object" && enforce) {
      const id = localIdOf(ask.identity);
      const answer = await waiting.wait({
        id,
        identity: ask.identity,
        waitMs: inFlight.waitMs,
        claim: claimAgain,
        local: () => executions.get(id)?.done,
      });
      if (answer !== "crowded") result = answer;
      waited = true;
    }
    if (result.outcome === "processing" && ask.route.profile.unknownStatus === 202) {
      // While a reconciler looks into an open outcome it holds the record; callers still get the interim answer.
      const record = await calls.find(ask.identity);
      if (record?.interim !== undefined) return { kind: "unknown", interim: record.interim };
      // It was settled between the two questions: what is true now, not "in flight".
      if (record?.state !== "processing") result = await claimAgain();
    }
    if (result.outcome === "granted") return granted(ask, owner, result, claimedMs);
    const ruling = rulingOf(ask, result);
    return ruling.kind === "replay" ? { ...ruling, waited } : ruling;
  }

  function rulingOf(ask: Ask<Native>, result: Exclude<ClaimResult, { outcome: "granted" }>): Ruling {
    switch (result.outcome) {
      case "completed":
        remember(ask, result.response, result.expiresInMs - (environment.monotonicMs() - ask.startedMs));
        return { kind: "replay", stored: result.response, waited: false };
      case "processing":
        return { kind: "in-flight", leaseLeftMs: result.leaseLeftMs };
      case "unknown":
        return { ...result, kind: "unknown" };
      case "mismatch":
        return { kind: "mismatch" };
      case "full":
      case "quota":
        return { kind: result.outcome };
    }
  }

  function unavailable(error: unknown): NeutralResponse {
    const code = codeOf(error);
    if (code !== "store-unavailable" && !(error instanceof StoreFailure) && !told.has(code)) {
      told.add(code);
      emit({ type: "warning", code, message: error instanceof Error ? error.message : String(error), error });
    }
    return refusals.refuse(code, {
      detail: failureDetail(error),
      ...(catalogue[code].retryable ? { retryAfter: 1 } : {}),
    });
  }

  const transactionMode =
    settings.transactions === undefined
      ? undefined
      : createTransactionMode<Native>({
          runner: settings.transactions,
          calls,
          environment,
          emit,
          faults,
          executions: bodies,
          executionMs: settings.executionMs,
          storeTimeoutMs: settings.storeTimeoutMs,
          verifyMs: settings.verifyMs,
          newOwner,
          requestFor,
          truth: (ask) => truthOf(ask, true),
          unavailable: () => unavailable(undefined),
          leftRunning: () => refusals.leftRunning(),
          rulingOf,
        });

  let closeCall: Promise<void> | undefined;

  async function closeOnce(): Promise<void> {
    closing = true;
    const quiet = async (): Promise<void> => {
      while (executions.size > 0 || background.size > 0) {
        await Promise.allSettled([...[...executions.values()].map((each) => each.done), ...background]);
        await sleep(environment, 0);
      }
    };
    await withDeadline(environment, settings.closeMs, quiet).catch(() => undefined);
    closed = true;
    const left = [...executions.values()];
    await withDeadline(environment, settings.closeMs, async () => transactionMode?.idle()).catch(() => undefined);
    await Promise.all(left.map((each) => (each.started ? each.handOver() : each.giveBack())));
    lateWrites.stop();
    calls.stop();
    heartbeat.stop();
    housekeeping.stop();
    silentHandlers.stop();
  }

  const decide = createDecide<Native>({
    environment,
    emit,
    refusals,
    scope: settings.scope,
    rule,
    answerFor,
    unavailable,
    isClosing: () => closing,
    idleMounts,
  });

  return {
    decide,
    rule,
    route(options, mountedFor) {
      const route = resolveRoute(settings.shared, options);
      checkMode(route.mode);
      noteRetention(route.retentionMs);
      if (mountedFor !== undefined) idleMounts.mounted(route, mountedFor);
      return route;
    },
    get closing() {
      return closing;
    },
    start() {
      if (closing) return Promise.reject(new IchidoError("engine-closed", "start: this engine was closed"));
      return life.start();
    },
    sweep() {
      cache?.clear();
      return housekeeping.sweep();
    },
    health: () =>
      healthOf(store, calls, () => ({
        running: executions.size + (transactionMode?.running ?? 0),
        waiting: waiting.size,
        clockTrusted: housekeeping.clockTrusted,
        closing,
      })),
    close() {
      closeCall ??= closeOnce();
      return closeCall;
    },
  };
}
