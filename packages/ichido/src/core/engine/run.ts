/** `ichido.run`: the same engine for any function, with values instead of HTTP answers. */
import type { Attempt } from "./attempt.ts";
import { knownOptions, type OptionNames } from "../contract/option-checks.ts";
import type { ConsoleLink } from "./console-link.ts";
import type { Context } from "../contract/context.ts";
import { IchidoError, isIchidoError } from "../contract/errors.ts";
import type { AttemptLog } from "./attempt-log.ts";
import { checkLabels, outcomeOf } from "./decide.ts";
import type { Engine } from "./engine.ts";
import { linkToFirst, type Ask, type Ruling } from "./ruling.ts";
import type { IchidoListener, RequestOutcome } from "../contract/events.ts";
import { fingerprintOfInput } from "../request/fingerprint.ts";
import type { Environment } from "../contract/environment.ts";
import { parseKey } from "../request/key.ts";
import type { InFlight, Labels, OnUnknown } from "../contract/options.ts";
import { profiles } from "../contract/profiles.ts";
import type { ScopeLike, StoredResponse } from "../contract/record.ts";
import { headerOf } from "./recorder.ts";
import { checkScope, identityOf, keyHashOf } from "../request/scope.ts";
import { begin, wordsOf } from "./spans.ts";
import { StoreFailure } from "./store-calls.ts";
import type { Tracing } from "../contract/tracing.ts";
import { decodeValue, encodeValue } from "../contract/value.ts";

export interface RunRequest {
  readonly operation: string;
  readonly scope: ScopeLike;
  /** 1 to 255 printable ASCII characters. */
  readonly key: string;
  /** What makes the call "the same": another input under the same key is refused. Plain JSON. */
  readonly input?: unknown;
  readonly onUnknown?: OnUnknown;
  readonly leaseMs?: number;
  readonly retentionMs?: number;
  readonly inFlight?: Exclude<InFlight, "accepted">;
  readonly labels?: Labels;
}

export interface RunResult<Value> {
  readonly value: Value;
  /** True when the function did not run this time. */
  readonly replayed: boolean;
}

const emptyBody = new Uint8Array(0);

function refusalOf(ruling: Exclude<Ruling, { kind: "execute" | "replay" }>, operation: string): IchidoError {
  switch (ruling.kind) {
    case "mismatch":
      return new IchidoError(
        "idempotency-key-reused",
        `${operation}: this key was used before with another input; use a new key`,
      );
    case "in-flight":
      return new IchidoError(
        "idempotency-in-flight",
        `${operation}: a call with this key is still running; ask again later`,
      );
    case "unknown":
    case "not-visible-yet":
      return new IchidoError(
        "outcome-unknown",
        `${operation}: an earlier call with this key ended without telling its outcome`,
      );
    case "full":
      return new IchidoError("store-unavailable", `${operation}: the store is full and takes no new keys`);
    case "quota":
      return new IchidoError(
        "quota-exceeded",
        `${operation}: this scope has its share of the store; no new keys of it`,
      );
  }
}

export interface RunParts {
  readonly engine: Engine<never>;
  readonly environment: Environment;
  readonly tracing: Tracing | undefined;
  readonly emit: IchidoListener;
  readonly attemptLog: AttemptLog | undefined;
  readonly isHeard: () => boolean;
  readonly link: ConsoleLink;
}

export async function run<Value>(
  parts: RunParts,
  request: RunRequest,
  fn: (context: Context) => Value | Promise<Value>,
): Promise<RunResult<Value>> {
  const { engine } = parts;
  if (engine.closing) throw new IchidoError("engine-closed", `${request.operation}: this process is shutting down`);
  const ask = askOf(parts, request);
  let ruling: Ruling;
  try {
    ruling = await engine.rule(ask);
  } catch (error) {
    tellRefused(parts, ask, "store_error");
    if (!(error instanceof StoreFailure)) throw error;
    throw new IchidoError(error.code, `${request.operation}: nothing was run, because ${error.message}`, {
      cause: error,
    });
  }
  if (ruling.kind === "execute") {
    const isHeld = ask.route.onUnknown === "hold";
    return { value: await executed(ruling.execution, request.operation, isHeld, fn), replayed: false };
  }
  parts.attemptLog?.add(ask, outcomeOf(ruling), undefined);
  if (ruling.kind === "replay") linkToFirst(ask.span, ruling.stored);
  tellRefused(parts, ask, outcomeOf(ruling));
  if (ruling.kind !== "replay") throw refusalOf(ruling, request.operation);
  if (ruling.stored.kind === "tombstone") {
    throw new IchidoError(
      "response-not-stored",
      `${request.operation}: done before, but its value was not kept; it is not run again`,
    );
  }
  return { value: valueOf<Value>(ruling.stored, request.operation), replayed: true };
}

/** The function did not run: the words are those of a request to a route. */
function tellRefused({ environment, emit, isHeard, link }: RunParts, ask: Ask<never>, outcome: RequestOutcome): void {
  const { identity, span, startedMs } = ask;
  span?.end(wordsOf(outcome, undefined, identity));
  if (!isHeard()) return;
  emit({
    type: "request",
    operation: identity.operation,
    outcome,
    observed: false,
    status: undefined,
    durationMs: environment.monotonicMs() - startedMs,
    keyHash: keyHashOf(identity),
    ...(outcome === "outcome_unknown" ? link.linked(identity) : {}),
  });
}

const requestNames: OptionNames<RunRequest> = {
  operation: true,
  scope: true,
  key: true,
  input: true,
  onUnknown: true,
  leaseMs: true,
  retentionMs: true,
  inFlight: true,
  labels: true,
};

function askOf(parts: RunParts, request: RunRequest): Ask<never> {
  knownOptions("ichido.run", request, requestNames);
  const { operation, onUnknown, leaseMs, retentionMs, inFlight } = request;
  const route = parts.engine.route({
    operation,
    ...(onUnknown === undefined ? {} : { onUnknown }),
    ...(leaseMs === undefined ? {} : { leaseMs }),
    ...(retentionMs === undefined ? {} : { retentionMs }),
    ...(inFlight === undefined ? {} : { inFlight }),
  });
  // `undefined` must never become the key "undefined", shared by every call that forgot its own.
  const text = typeof request.key === "string" ? request.key : "";
  const quoted = `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
  const parsed = parseKey([quoted], { ...profiles.ietf, keyForm: "strict" });
  if (!parsed.ok) {
    throw new IchidoError("idempotency-key-invalid", `${operation}: key must be 1 to 255 printable ASCII characters`);
  }
  return {
    identity: identityOf(checkScope(request.scope), operation, parsed.key, profiles.ietf),
    fingerprint: fingerprintOfInput(request.input),
    route: { ...route, enforce: true },
    labels: request.labels === undefined ? undefined : checkLabels(request.labels, parts.emit),
    startedMs: parts.environment.monotonicMs(),
    span: begin(parts.tracing, operation),
  };
}

/**
 * A value that `ctx.transaction` committed may be text or bytes; what `run` itself stores is JSON without a type. What a
 * person or `verify` adopted for the key may be anything.
 */
function valueOf<Value>(stored: Pick<StoredResponse, "headers" | "body">, operation: string): Value {
  const type = headerOf(stored.headers, "content-type") ?? "";
  if (type.startsWith("text/plain")) return new TextDecoder().decode(stored.body) as Value;
  if (type.startsWith("application/octet-stream")) return stored.body.slice() as Value;
  try {
    return decodeValue(stored.body) as Value;
  } catch (cause) {
    throw new IchidoError(
      "response-not-stored",
      `${operation}: done before, but its answer (${type === "" ? "without a type" : type}) is neither JSON nor text/plain, so there is no value to give back; it is not run again`,
      { cause },
    );
  }
}

/** The value that the function committed with its own writes, if it did. */
function committedBy<Value>({ answer }: Attempt, operation: string): { readonly value: Value } | undefined {
  return answer?.kind === "own" ? { value: valueOf<Value>(answer.response, operation) } : undefined;
}

/** The record was left open or belongs to another attempt: that, and not the error that stopped the function, is the news. */
function answerError({ answer }: Attempt, isHeld: boolean, cause: unknown): unknown {
  if (answer?.kind === "own") return cause;
  if (answer?.kind === "lost") return lostError(isHeld, cause);
  return new IchidoError("outcome-unknown", "the outcome of this call is open; ask again with the same key", { cause });
}

/** Under `hold` a lost lease is a person's business; otherwise the next caller learns what became of it. */
function lostError(isHeld: boolean, cause?: unknown): IchidoError {
  const code = isHeld ? "outcome-unknown" : "idempotency-in-flight";
  return new IchidoError(code, "the lease of this call was lost; ask again with the same key", { cause });
}

async function executed<Value>(
  execution: Attempt,
  operation: string,
  isHeld: boolean,
  fn: (context: Context) => Value | Promise<Value>,
): Promise<Value> {
  let value: Value;
  try {
    value = await execution.within(() => fn(execution.context));
  } catch (error) {
    await execution.settle({ kind: "threw", error });
    throw execution.answer === undefined ? error : answerError(execution, isHeld, error);
  }
  const before = committedBy<Value>(execution, operation);
  if (before !== undefined) return before.value;
  let body: Uint8Array;
  try {
    body = encodeValue(value, "the returned value");
  } catch (error) {
    // The effect happened: remember that it did, so that a retry gets that answer instead of running it again.
    if (isIchidoError(error)) await execution.beginStream({ status: 200, headers: [] });
    throw error;
  }
  const settled = await execution.settle({
    kind: "answered",
    response: { status: 200, headers: [], body: body.length === 0 ? emptyBody : body },
  });
  const after = committedBy<Value>(execution, operation);
  if (after !== undefined) return after.value;
  if (settled.kind === "replace") {
    throw execution.answer === undefined ? lostError(isHeld) : answerError(execution, isHeld, undefined);
  }
  return value;
}
