/** From a request to a decision: the order of checks, and the form that a ruling takes over HTTP. */
import type { Answers } from "./answers.ts";
import type { AttemptLog } from "./attempt-log.ts";
import type { ConsoleLink } from "./console-link.ts";
import type { Decision } from "../contract/decision.ts";
import { limits } from "../contract/defaults.ts";
import type { Engine } from "./engine.ts";
import type { Environment } from "../contract/environment.ts";
import { isIchidoError, RequestBodyError } from "../contract/errors.ts";
import type { IchidoEvent, IchidoListener, RequestOutcome } from "../contract/events.ts";
import { fingerprintOf } from "../request/fingerprint.ts";
import { judgeKey, parseKey } from "../request/key.ts";
import type { NeutralRequest, NeutralResponse, RequestBody } from "../contract/message.ts";
import { createIdleMounts } from "./mounts.ts";
import type { Decider, Labels, ResolvedRoute } from "../contract/options.ts";
import type { Key, ScopeLike } from "../contract/record.ts";
import type { Refusals } from "./refusals.ts";
import { linkToFirst, type Ask, type Refusal, type Ruling } from "./ruling.ts";
import { identityOf, keyHashOf, scopeFor, sharedScope } from "../request/scope.ts";
import { begin, wordsOf } from "./spans.ts";
import { StoreFailure } from "./store-calls.ts";
import type { Tracing } from "../contract/tracing.ts";

export function outcomeOf(ruling: Refusal): RequestOutcome {
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
    case "quota":
      return "refused";
  }
}

/** What is known of a request that reached a protected route. */
type Arrived<Native> = Pick<Ask<Native>, "route" | "startedMs" | "span"> &
  Partial<Pick<Ask<Native>, "identity" | "askedBy">>;

/** The engine as adapters see it: what stands between a request and the rulings. */
export function createDecider<Native>(parts: {
  /** Absent: keys are shared by all callers. */
  readonly scope: ((request: Native) => ScopeLike) | undefined;
  readonly environment: Environment;
  readonly tracing?: Tracing | undefined;
  readonly emit: IchidoListener;
  /** Someone listens. */
  readonly isHeard: () => boolean;
  readonly link: ConsoleLink;
  readonly refusals: Refusals;
  readonly answers: Answers;
  readonly attemptLog: AttemptLog | undefined;
  /** What the attempt log is told of a caller. */
  readonly askedBy: ((request: Native) => string | undefined) | undefined;
  readonly engine: Pick<Engine<Native>, "rule" | "route" | "closing">;
}): Decider<Native> {
  const { environment, emit, isHeard, refusals, answers, attemptLog, engine } = parts;
  const idleMounts = createIdleMounts(emit);

  type Request = NeutralRequest<Native>;
  type Route = ResolvedRoute<Native>;

  function tell(arrived: Arrived<Native>, outcome: RequestOutcome, status: number | undefined): void {
    const { route, startedMs, identity, askedBy, span } = arrived;
    span?.end(wordsOf(outcome, status, identity));
    if (identity !== undefined) attemptLog?.add({ identity, startedMs, askedBy, route }, outcome, status);
    if (!isHeard()) return;
    const durationMs = environment.monotonicMs() - startedMs;
    const observed = !route.enforce;
    const { operation } = route;
    const named = identity === undefined ? {} : { keyHash: keyHashOf(identity) };
    const linked = identity !== undefined && outcome === "outcome_unknown" ? parts.link.linked(identity) : {};
    emit({ type: "request", operation, outcome, observed, status, durationMs, ...named, ...linked });
  }

  /** In observe mode a refusal is counted and the request runs. */
  function refused(arrived: Arrived<Native>, outcome: RequestOutcome, response: NeutralResponse): Decision {
    tell(arrived, outcome, response.status);
    return arrived.route.enforce ? { kind: "reject", response } : { kind: "pass" };
  }

  async function decide(request: Request, route: Route): Promise<Decision> {
    if (!route.methods.has(request.method)) {
      idleMounts.passed(route, request.method);
      return { kind: "pass" };
    }
    idleMounts.guarded(route);
    const startedMs = environment.monotonicMs();
    const span = begin(parts.tracing, route.operation);
    const arrived = { route, startedMs, span };

    const parsed = parseKey(request.headerLines(route.profile.header), route.profile);
    if (!parsed.ok) {
      if (parsed.reason === "invalid") {
        return refused(arrived, "key_invalid", refusals.refuse("idempotency-key-invalid", { detail: parsed.detail }));
      }
      if (route.requiredFor.has(request.method)) {
        return refused(arrived, "key_missing", refusals.refuse("idempotency-key-required", { detail: parsed.detail }));
      }
      tell(arrived, "bypassed", undefined);
      return { kind: "pass" };
    }
    const judgement = judgeKey(parsed.key, route.keyPolicy);
    if (judgement.verdict === "refuse") {
      return refused(arrived, "key_invalid", refusals.refuse("idempotency-key-invalid", { detail: judgement.detail }));
    }
    if (judgement.verdict === "warn") {
      emit({ type: "warning", code: `key-${judgement.reason}`, message: `${route.operation}: ${judgement.detail}` });
    }
    if (engine.closing) {
      const response = refusals.refuse("engine-closed", { detail: "Ask another server.", retryAfter: 1 });
      return refused(arrived, "refused", response);
    }

    let ask: Ask<Native>;
    try {
      const asked = askOf(request, route, parsed.key, startedMs);
      ask = "then" in asked ? await asked : asked;
      if (span !== undefined) ask = { ...ask, span };
    } catch (error) {
      return unreadable(arrived, error);
    }

    let ruling: Ruling;
    try {
      ruling = await engine.rule(ask);
    } catch (error) {
      const decision = refused(ask, "store_error", answers.unavailable(error));
      // Only where the claim itself failed: after it, an earlier attempt may be known to have taken effect.
      const unclaimed = error instanceof StoreFailure && error.verb === "claim";
      return route.dangerouslyRunWithoutStore && unclaimed ? { kind: "pass" } : decision;
    }
    if (ruling.kind === "execute") return ruling;
    if (ruling.kind === "replay") linkToFirst(span, ruling.stored);
    const response = await answers.toRuling(ask, ruling);
    const decision = refused(ask, outcomeOf(ruling), response);
    return decision.kind === "reject" && ruling.kind === "replay" ? { kind: "replay", response } : decision;
  }

  function unreadable(arrived: Arrived<Native>, error: unknown): Decision {
    if (error instanceof RequestBodyError && error.code !== "body-unavailable") {
      return refused(arrived, "refused", refusals.refuse(error.code, { detail: error.message }));
    }
    const { enforce, operation } = arrived.route;
    arrived.span?.end({}, { error });
    if (enforce) throw error;
    const code = isIchidoError(error) ? error.code : "observe-failed";
    const why = isIchidoError(error) ? `: ${error.message}` : "";
    emit({ type: "warning", code, message: `${operation}: the request could not be observed${why}`, error });
    return { kind: "pass" };
  }

  /** At once where the body is here. */
  function askOf(request: Request, route: Route, key: Key, startedMs: number): Ask<Native> | Promise<Ask<Native>> {
    const scopeOf = route.scope ?? parts.scope;
    const scope = scopeOf === undefined ? sharedScope : scopeFor(scopeOf, request.native);
    const labels = labelsOf(request.native, route);
    const askedBy = askedByOf(request.native, route);
    const askFor = (body: RequestBody): Ask<Native> => {
      const { operationInIdentity } = route.profile;
      const fingerprint = fingerprintOf({
        method: request.method,
        target: request.target,
        mediaType: request.headerLines("content-type")[0],
        body,
        options: route.fingerprint,
        operation: operationInIdentity ? undefined : route.operation,
      });
      return {
        identity: identityOf(scope, route.operation, key, route.profile),
        fingerprint,
        route,
        labels,
        startedMs,
        askedBy,
      };
    };
    const body = request.body();
    // Not by its class: a library may have put a `Promise` of its own in the place of the one that async functions make.
    return "then" in body ? body.then(askFor) : askFor(body);
  }

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

  function askedByOf(native: Native, { operation }: Route): string | undefined {
    if (parts.askedBy === undefined) return undefined;
    try {
      const text = parts.askedBy(native);
      return typeof text === "string" ? text.slice(0, limits.askedByLengthMax).toWellFormed() : undefined;
    } catch (error) {
      emit({ type: "warning", code: "asked-by-failed", message: `${operation}: attemptLog.askedBy failed`, error });
      return undefined;
    }
  }

  return {
    decide,
    route(options, mountedFor) {
      const route = engine.route(options);
      if (mountedFor !== undefined) idleMounts.mounted(route, mountedFor);
      return route;
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
