/** The only state machine: every request to a protected route, and every `run`, is decided here. */
import type { Decision } from "./decision.ts";
import { limits } from "./defaults.ts";
import { isIchidoError, RequestBodyError } from "./errors.ts";
import type { IchidoEvent, RequestOutcome } from "./events.ts";
import { createExecution, type Grant, type LiveExecution } from "./execution.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { createHeartbeat } from "./heartbeat.ts";
import { createHousekeeping } from "./housekeeping.ts";
import { parseKey } from "./key.ts";
import { judgeKey } from "./key-policy.ts";
import type { NeutralRequest, NeutralResponse } from "./message.ts";
import type { Labels, ResolvedRoute, RouteOptions } from "./options.ts";
import type { Fingerprint, Identity, Key, OwnerToken, StoredResponse } from "./record.ts";
import { recover } from "./recovery.ts";
import { replayOf } from "./recorder.ts";
import { createReplayCache } from "./replay-cache.ts";
import { createRefusals } from "./refusals.ts";
import { checkScope, identityOf, keyHashOf, operationIdOf, sharedScope } from "./scope.ts";
import type { ClaimRequest, ClaimResult, SweepResult } from "./store.ts";
import { createStoreCalls, failureDetail, StoreFailure } from "./store-calls.ts";
import { createTransactionMode, type InsideTransaction } from "./transaction-mode.ts";
import { checked, optionInvalid, resolveRoute, type ResolvedEngine } from "./validate-options.ts";
import { createWaiting } from "./waiting.ts";
import { sleep, withDeadline } from "./deadline.ts";

/** What is claimed, whoever asks: a request or a function call. */
export interface Ask<Native> {
  readonly identity: Identity;
  readonly fingerprint: Fingerprint;
  readonly route: ResolvedRoute<Native>;
  readonly labels: Labels | undefined;
  readonly startedMs: number;
}

/** The outcome of an ask, before it takes the form of an HTTP answer or of a value. */
export type Ruling =
  | { readonly kind: "execute"; readonly execution: LiveExecution }
  | { readonly kind: "replay"; readonly stored: StoredResponse; readonly waited: boolean }
  | { readonly kind: "mismatch" }
  | { readonly kind: "in-flight"; readonly leaseLeftMs: number }
  | { readonly kind: "unknown"; readonly interim?: StoredResponse; readonly holdReason?: string }
  | { readonly kind: "not-visible-yet" }
  | { readonly kind: "full" };

export interface Health {
  readonly ok: boolean;
  readonly store: { readonly name: string; readonly reachable: boolean; readonly promise: string };
  /** Attempts that run in this process now. */
  readonly running: number;
  readonly waiting: number;
  /** False while the store's clock is watched after a jump or a long pause: nothing expires meanwhile. */
  readonly clockTrusted: boolean;
  readonly closing: boolean;
}

export interface Engine<Native> {
  decide(request: NeutralRequest<Native>, route: ResolvedRoute<Native>): Promise<Decision>;
  rule(ask: Ask<Native>): Promise<Ruling>;
  route(options: RouteOptions<Native>): ResolvedRoute<Native>;
  readonly closing: boolean;
  sweep(): Promise<SweepResult>;
  health(): Promise<Health>;
  close(): Promise<void>;
}

export function createEngine<Native>(
  settings: ResolvedEngine<Native>,
  emit: (event: IchidoEvent) => void,
): Engine<Native> {
  const { store, environment, faults } = settings;
  const calls = createStoreCalls({ store, environment, timeoutMs: settings.storeTimeoutMs, emit, faults });
  const heartbeat = createHeartbeat({ calls, environment, executionMs: settings.executionMs });
  const waiting = createWaiting({ environment, store, waitersMax: settings.waitersMax });
  const refusals = createRefusals(settings.format);
  const engineRoute = resolveRoute(settings.shared, { operation: checked });
  const housekeeping = createHousekeeping({
    calls,
    environment,
    emit,
    sweepMs: settings.sweepMs,
    retentionMs: engineRoute.retentionMs,
  });
  const cache =
    settings.replayCache === undefined ? undefined : createReplayCache({ environment, ...settings.replayCache });
  const executions = new Map<string, LiveExecution>();
  const background = new Set<Promise<void>>();
  let closing = false;
  let warnedRetention = false;

  function noteRetention(retentionMs: number): void {
    housekeeping.cover(retentionMs);
    if (warnedRetention || retentionMs >= limits.retentionMsAdvised) return;
    warnedRetention = true;
    const message = `retentionMs ${retentionMs} is below 24 hours: a retry that comes later than that runs again`;
    emit({ type: "warning", code: "short-retention", message });
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

  function newOwner(): OwnerToken {
    return Buffer.from(environment.randomBytes(16)).toString("hex") as OwnerToken;
  }

  function track(work: Promise<void>): void {
    background.add(work);
    void work.finally(() => background.delete(work));
  }

  /** The fence was lost: what the record says now is the answer, not what the late attempt made. */
  async function truthOf(ask: Ask<Native>): Promise<NeutralResponse> {
    const { identity, route } = ask;
    try {
      const record = await calls.find(identity);
      if (record?.state === "completed" && record.response !== undefined) return answerFor(ask, record.response);
      if (record?.state === "processing" && (record.leaseLeftMs ?? 0) > 0) {
        return refusals.inFlight(route, identity, record.leaseLeftMs ?? 0);
      }
      return refusals.unknown(route, identity, {});
    } catch (error) {
      return unavailable(error);
    }
  }

  function answerFor(ask: Ask<Native>, stored: StoredResponse): NeutralResponse {
    return stored.kind === "tombstone" ? refusals.notStored(stored) : replayOf(stored, ask.route.profile);
  }

  async function claimOnce(ask: Ask<Native>, owner: OwnerToken, inside?: InsideTransaction): Promise<ClaimResult> {
    const { route } = ask;
    const request: ClaimRequest = {
      identity: ask.identity,
      owner,
      fingerprint: ask.fingerprint,
      leaseMs: route.leaseMs,
      retentionMs: route.retentionMs,
      takeover: route.onUnknown === "hold" ? "none" : "lapsed",
      ...(ask.labels === undefined ? {} : { labels: ask.labels }),
      ...(inside === undefined ? {} : { waitMs: inside.waitMs }),
    };
    return calls.claim(request, inside?.handle);
  }

  function executionFor(ask: Ask<Native>, owner: OwnerToken, grant: Grant, claimedMs: number): LiveExecution {
    const id = operationIdOf(ask.identity);
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
      track,
      verifyMs: settings.verifyMs,
      transactions: settings.transactions,
      truth: () => truthOf(ask),
      openAnswer: (holdReason) =>
        holdReason === undefined
          ? refusals.notVisibleYet(ask.route, ask.identity)
          : refusals.unknown(ask.route, ask.identity, { holdReason }),
      reclaim: () => claimOnce(ask, owner),
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
    if (grant.origin === "lapsed") {
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
    if (!execution.trusted) {
      // Recovery, or the claim itself, took longer than the lease allows: someone else may be at work already.
      await execution.giveBack();
      return { kind: "in-flight", leaseLeftMs: 1_000 };
    }
    execution.started = true;
    return { kind: "execute", execution };
  }

  /** Under `hold` a vanished owner is noted at first sight, so that retention does not end the hold by itself. */
  function noteHold(ask: Ask<Native>, fence: number): void {
    const decision = { kind: "hold" } as const;
    const reason = "the owner vanished without an outcome";
    track(
      calls.settle({ identity: ask.identity, fence, decision, actor: "ichido", reason }).then(
        () => undefined,
        () => undefined,
      ),
    );
  }

  /** Remembers a completed answer for no longer than its record lives. */
  function remember(ask: Ask<Native>, stored: StoredResponse, leftMs: number): void {
    cache?.put(operationIdOf(ask.identity), { fingerprint: ask.fingerprint, stored, leftMs });
  }

  async function rule(ask: Ask<Native>): Promise<Ruling> {
    const cached = cache?.get(operationIdOf(ask.identity), ask.fingerprint);
    if (cached !== undefined) return { kind: "replay", stored: cached, waited: false };
    if (ask.route.mode === "transaction" && transactionMode !== undefined) return transactionMode.rule(ask);
    const owner = newOwner();
    let claimedMs = environment.monotonicMs();
    const claim = (): Promise<ClaimResult> => {
      claimedMs = environment.monotonicMs();
      return claimOnce(ask, owner);
    };
    let result = await claim();
    let waited = false;
    const { inFlight } = ask.route;
    if (result.outcome === "processing" && typeof inFlight === "object" && ask.route.enforce) {
      const id = operationIdOf(ask.identity);
      const answer = await waiting.wait({
        id,
        identity: ask.identity,
        waitMs: inFlight.waitMs,
        claim,
        local: () => executions.get(id)?.done,
      });
      if (answer !== "crowded") result = answer;
      waited = true;
    }
    if (result.outcome === "granted") return granted(ask, owner, result, claimedMs);
    if (result.outcome === "processing" && ask.route.profile.unknownStatus === 202) {
      // While a reconciler looks into an open outcome it holds the record; callers still get the interim answer.
      const interim = (await calls.find(ask.identity))?.interim;
      if (interim !== undefined) return { kind: "unknown", interim };
    }
    const ruling = rulingOf(ask, result);
    return ruling.kind === "replay" ? { ...ruling, waited } : ruling;
  }

  function rulingOf(ask: Ask<Native>, result: Exclude<ClaimResult, { outcome: "granted" }>): Ruling {
    switch (result.outcome) {
      case "completed":
        remember(ask, result.response, result.expiresInMs);
        return { kind: "replay", stored: result.response, waited: false };
      case "processing":
        return { kind: "in-flight", leaseLeftMs: result.leaseLeftMs };
      case "unknown":
        if (result.interim === undefined && result.holdReason === undefined) noteHold(ask, result.fence);
        return { ...result, kind: "unknown" };
      case "mismatch":
        return { kind: "mismatch" };
      case "full":
        return { kind: "full" };
    }
  }

  function unavailable(error: unknown): NeutralResponse {
    return refusals.refuse("store-unavailable", { detail: failureDetail(error), retryAfter: 1 });
  }

  function outcomeOf(ruling: Exclude<Ruling, { kind: "execute" }>): RequestOutcome {
    switch (ruling.kind) {
      case "replay":
        if (ruling.stored.kind === "tombstone") return "response_not_stored";
        return ruling.waited ? "replayed_after_wait" : "replayed";
      case "mismatch":
        return "key_reused";
      case "in-flight":
        return "in_progress";
      case "unknown":
      case "not-visible-yet":
        return "outcome_unknown";
      case "full":
        return "store_error";
    }
  }

  function responseTo(ask: Ask<Native>, ruling: Exclude<Ruling, { kind: "execute" }>): NeutralResponse {
    const { route, identity } = ask;
    switch (ruling.kind) {
      case "replay":
        return answerFor(ask, ruling.stored);
      case "mismatch":
        return refusals.reused(route);
      case "in-flight":
        return refusals.inFlight(route, identity, ruling.leaseLeftMs);
      case "unknown":
        return refusals.unknown(route, identity, ruling);
      case "not-visible-yet":
        return refusals.notVisibleYet(route, identity);
      case "full":
        return refusals.refuse("store-unavailable", {
          detail: "The store is full and takes no new keys.",
          retryAfter: 1,
        });
    }
  }

  async function decide(request: NeutralRequest<Native>, route: ResolvedRoute<Native>): Promise<Decision> {
    if (!route.methods.has(request.method)) return { kind: "pass" };
    const startedMs = environment.monotonicMs();

    /** In observe mode a refusal is counted and the request runs. */
    function refused(outcome: RequestOutcome, response: NeutralResponse, keyHash?: string): Decision {
      emit({
        type: "request",
        operation: route.operation,
        outcome,
        observed: !route.enforce,
        status: response.status,
        durationMs: environment.monotonicMs() - startedMs,
        ...(keyHash === undefined ? {} : { keyHash }),
      });
      return route.enforce ? { kind: "reject", response } : { kind: "pass" };
    }

    const parsed = parseKey(request.headerLines(route.profile.header), route.profile);
    if (!parsed.ok) {
      if (parsed.reason === "invalid") {
        return refused("key_invalid", refusals.refuse("idempotency-key-invalid", { detail: parsed.detail }));
      }
      if (route.requiredFor.has(request.method)) {
        return refused("key_missing", refusals.refuse("idempotency-key-required", { detail: parsed.detail }));
      }
      emit({
        type: "request",
        operation: route.operation,
        outcome: "bypassed",
        observed: false,
        status: undefined,
        durationMs: 0,
      });
      return { kind: "pass" };
    }
    const judgement = judgeKey(parsed.key, route.keyPolicy);
    if (judgement.verdict === "refuse") {
      return refused("key_invalid", refusals.refuse("idempotency-key-invalid", { detail: judgement.detail }));
    }
    if (judgement.verdict === "warn") {
      emit({ type: "warning", code: `key-${judgement.reason}`, message: `${route.operation}: ${judgement.detail}` });
    }
    if (closing) {
      return refused("refused", refusals.refuse("engine-closed", { detail: "Ask another server.", retryAfter: 1 }));
    }

    let ask: Ask<Native>;
    try {
      ask = await askOf(request, route, parsed.key, startedMs);
    } catch (error) {
      if (error instanceof RequestBodyError && error.code !== "body-unavailable") {
        return refused("refused", refusals.refuse(error.code, { detail: error.message }));
      }
      if (route.enforce) throw error;
      const code = isIchidoError(error) ? error.code : "observe-failed";
      emit({ type: "warning", code, message: `${route.operation}: the request could not be observed`, error });
      return { kind: "pass" };
    }

    const keyHash = keyHashOf(ask.identity);
    let ruling: Ruling;
    try {
      ruling = await rule(ask);
    } catch (error) {
      const response = unavailable(error);
      const decision = refused("store_error", response, keyHash);
      // Only where the claim itself failed: after it, an earlier attempt may be known to have taken effect.
      const unclaimed = error instanceof StoreFailure && error.verb === "claim";
      return route.dangerouslyRunWithoutStore && unclaimed ? { kind: "pass" } : decision;
    }
    if (ruling.kind === "execute") return ruling;
    const response = responseTo(ask, ruling);
    const decision = refused(outcomeOf(ruling), response, keyHash);
    return decision.kind === "reject" && ruling.kind === "replay" ? { kind: "replay", response } : decision;
  }

  async function askOf(
    request: NeutralRequest<Native>,
    route: ResolvedRoute<Native>,
    key: Key,
    startedMs: number,
  ): Promise<Ask<Native>> {
    const scope = settings.scope === undefined ? sharedScope : checkScope(settings.scope(request.native));
    const labels = labelsOf(request.native, route);
    const body = await request.body();
    const { profile } = route;
    const fingerprint = fingerprintOf({
      method: request.method,
      target: request.target,
      mediaType: request.headerLines("content-type")[0],
      body,
      options: route.fingerprint,
      ...(profile.operationInIdentity ? {} : { operation: route.operation }),
    });
    return { identity: identityOf(scope, route.operation, key, profile), fingerprint, route, labels, startedMs };
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
          executionMs: settings.executionMs,
          newOwner,
          claim: claimOnce,
          truth: truthOf,
          unavailable: () => unavailable(undefined),
          rulingOf,
        });

  /** Labels are for searching: a function that fails must not stop a payment. */
  function labelsOf(native: Native, route: ResolvedRoute<Native>): Labels | undefined {
    if (route.labels === undefined) return undefined;
    try {
      return checkLabels(route.labels(native), emit);
    } catch (error) {
      emit({
        type: "warning",
        code: "labels-failed",
        message: `${route.operation}: the labels function failed`,
        error,
      });
      return undefined;
    }
  }

  let closed: Promise<void> | undefined;

  async function closeOnce(): Promise<void> {
    closing = true;
    const quiet = async (): Promise<void> => {
      while (executions.size > 0 || background.size > 0) {
        await Promise.allSettled([...[...executions.values()].map((each) => each.done), ...background]);
        await sleep(environment, 0);
      }
    };
    await withDeadline(environment, settings.closeMs, quiet).catch(() => undefined);
    const left = [...executions.values()];
    await withDeadline(environment, settings.closeMs, async () => transactionMode?.idle()).catch(() => undefined);
    await Promise.all(left.map((each) => (each.started ? each.handOver() : each.giveBack())));
    heartbeat.stop();
    housekeeping.stop();
  }

  return {
    decide,
    rule,
    route(options) {
      const route = resolveRoute(settings.shared, options);
      checkMode(route.mode);
      noteRetention(route.retentionMs);
      return route;
    },
    get closing() {
      return closing;
    },
    sweep() {
      cache?.clear();
      return housekeeping.sweep();
    },
    async health() {
      const reachable = await calls.ping().then(
        () => true,
        () => false,
      );
      return {
        ok: reachable && !closing,
        store: { name: store.name, reachable, promise: store.capabilities.promise },
        running: executions.size + (transactionMode?.running ?? 0),
        waiting: waiting.size,
        clockTrusted: housekeeping.clockTrusted,
        closing,
      };
    },
    close() {
      closed ??= closeOnce();
      return closed;
    },
  };
}

/** Labels are for searching, not for deciding: a bad one is dropped with a warning and never stops a request. */
export function checkLabels(labels: Labels, emit: (event: IchidoEvent) => void): Labels {
  const sound: Record<string, string> = Object.create(null) as Record<string, string>;
  let count = 0;
  for (const [name, value] of Object.entries(labels)) {
    const fits =
      typeof value === "string" && value.length <= limits.labelLengthMax && name.length <= limits.labelLengthMax;
    if (fits && count < limits.labelsMax) {
      sound[name] = value;
      count += 1;
    } else {
      emit({
        type: "warning",
        code: "label-dropped",
        message: `label ${JSON.stringify(name.slice(0, 40))} was dropped`,
      });
    }
  }
  return sound;
}
