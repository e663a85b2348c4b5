/** External calls under a key: start recorded before, result after, both fenced. */
import { knownOptions, type OptionNames } from "../contract/option-checks.ts";
import type { StepContext, StepFunction } from "../contract/context.ts";
import { withDeadline } from "../contract/deadline.ts";
import type { EngineParts } from "./engine-parts.ts";
import { believed } from "./doubt.ts";
import { IchidoError } from "../contract/errors.ts";
import type { LeaseAttempt } from "./lease-attempt.ts";
import type { StepOptions, StepVerdict } from "../contract/options.ts";
import { limits } from "../contract/defaults.ts";
import type { Step, StepRequest } from "../contract/store.ts";
import { decodeValue, encodeValue } from "../contract/value.ts";
import { isUnfinished } from "../record-machine/seen.ts";

/** The attempt must stop here; how the record is left is already decided. */
export class OutcomeOpen extends IchidoError {
  override readonly name: string = "OutcomeOpen";
  /** Set: the record goes on hold. Unset: the next attempt asks again. */
  readonly holdReason: string | undefined;
  constructor(message: string, holdReason?: string) {
    super("outcome-unknown", message);
    this.holdReason = holdReason;
  }
}

/** Another attempt owns the key: nothing more may be done in this one's name. */
export class FenceLost extends IchidoError {
  override readonly name: string = "FenceLost";
  constructor(message: string, options?: ErrorOptions) {
    super("fence-lost", message, options);
  }
}

const stepNames: OptionNames<StepOptions<never>> = { onUnknown: true, verify: true, retentionMs: true };

export interface Steps {
  step<Value>(name: string, options: StepOptions<Value>, fn: StepFunction<Value>): Promise<Value>;
  /** A step was started and its result is not recorded. */
  readonly unfinished: boolean;
}

/** A step without a result, of a former attempt or of this one. */
type Met = Pick<Step, "name" | "ageMs" | "firstAgeMs">;

export function createSteps({ settings, calls, emit, measurements }: EngineParts, attempt: LeaseAttempt): Steps {
  const { environment, verifyMs, storeTimeoutMs } = settings;
  const { ask, claim, grant, signal } = attempt;
  const { leaseMs, onUnknown } = ask.route;
  const running = new Set<string>();
  const finished = new Set<string>();
  /** When a step that this attempt started was first started, in whatever attempt, and when last. */
  const starts = new Map<string, { readonly firstMs: number; readonly lastMs: number }>();
  const open = new Set<string>();
  /** Results that the store was sent, and may not have: noted again in place of a second call. */
  const unheard = new Map<string, unknown>();
  let known: Promise<Map<string, Step>> | undefined;
  /** When the steps of former attempts were asked for, and when they were heard of: their ages are of a moment between. */
  let read = { sentMs: 0, heardMs: 0 };
  let isWarned = false;

  /** One read per attempt, and only where a former attempt left steps. */
  async function recorded(): Promise<Map<string, Step>> {
    if (grant.stepsStarted === 0) return new Map();
    const sentMs = environment.monotonicMs();
    const steps = await calls.steps(claim.identity);
    read = { sentMs, heardMs: environment.monotonicMs() };
    return new Map(steps.map((step) => [step.name, step]));
  }

  function fenced(answer: "ok" | "stale"): void {
    if (answer === "stale") throw new FenceLost("another attempt owns this key; this one must stop");
  }

  function stopUnlessTrusted(notedMs?: number): void {
    if (attempt.isTrusted(notedMs)) return;
    throw new FenceLost("this attempt is over, or its lease can no longer be counted on; it must stop");
  }

  async function finish(name: string, value: unknown): Promise<void> {
    const result = encodeValue(value, `the result of step ${JSON.stringify(name)}`);
    if (result.length > limits.stepBytesMax) {
      throw new IchidoError(
        "value-not-serialisable",
        `the result of step ${JSON.stringify(name)} has ${result.length} bytes, at most ${limits.stepBytesMax} can be ` +
          "recorded; return only what later code needs, such as the provider's id",
      );
    }
    const { news } = attempt;
    unheard.set(name, value);
    fenced(await calls.finishStep({ ...claim, name, leaseMs: leaseMs, result, ...news }));
    attempt.told?.kept(news);
    unheard.delete(name);
    open.delete(name);
    finished.add(name);
  }

  /** The reference is made when it is read: a call that needs none does not pay for the hash. */
  function contextOf(name: string): StepContext {
    return {
      get reference() {
        return attempt.reference(name);
      },
      signal,
    };
  }

  /** When it was sent. Another attempt may be at work since. */
  async function noteStart(request: StepRequest): Promise<number> {
    stopUnlessTrusted();
    const notedMs = environment.monotonicMs();
    const { news } = attempt;
    fenced(await calls.startStep({ ...request, ...news }));
    attempt.told?.kept(news);
    open.add(request.name);
    stopUnlessTrusted(notedMs);
    return notedMs;
  }

  async function call<Value>(name: string, options: StepOptions<Value>, fn: StepFunction<Value>): Promise<Value> {
    const mayBeLost = onUnknown === "rerun" && policyOf(options) === "rerun" && options.retentionMs === undefined;
    const request: StepRequest = { ...claim, name, leaseMs: leaseMs, ...(mayBeLost && { mayBeLost }) };
    let notedMs = await noteStart(request);
    // The process may have stood still while the answer was on its way. `verify` counts from the noted start,
    // and must not find it long ago when the call is only made now.
    while (environment.monotonicMs() - notedMs > storeTimeoutMs) notedMs = await noteStart(request);
    const lastMs = environment.monotonicMs();
    starts.set(name, { firstMs: Math.min(starts.get(name)?.firstMs ?? lastMs, lastMs), lastMs });
    const value = await attempt.traced("idempotency.step", { "idempotency.step": name }, () => measured(name, fn));
    await finish(name, value);
    return value;
  }

  /** An exception is no answer: what the call did is not known. */
  async function measured<Value>(name: string, fn: StepFunction<Value>): Promise<Value> {
    const startedMs = environment.monotonicMs();
    let isAnswered = false;
    try {
      const value = await fn(contextOf(name));
      isAnswered = true;
      return value;
    } finally {
      measurements.stepped(name, environment.monotonicMs() - startedMs, isAnswered);
    }
  }

  async function meet<Value>(step: Met, options: StepOptions<Value>, fn: StepFunction<Value>): Promise<Value> {
    const { name } = step;
    open.add(name);
    const quoted = JSON.stringify(name);
    if (policyOf(options) === "hold") {
      throw new OutcomeOpen(`step ${quoted} has no recorded result`, `step ${quoted} was started and never finished`);
    }
    const { verify } = options;
    if (verify !== undefined) {
      const verdict = await withDeadline<StepVerdict<Value>>(environment, verifyMs, async () => {
        const request = { reference: attempt.reference(name), signal, ageMs: step.ageMs };
        return believed(await verify(request), `step ${quoted}`, emit);
      }).catch(() => ({ verdict: "not-visible-yet" }) as const);
      if (verdict.verdict === "found") {
        await finish(name, verdict.value);
        return verdict.value;
      }
      if (verdict.verdict !== "absent") throw new OutcomeOpen(`step ${quoted}: its outcome is not visible yet`);
    }
    if (options.retentionMs !== undefined && step.firstAgeMs >= options.retentionMs) {
      throw new OutcomeOpen(
        `step ${quoted} is older than the provider remembers its reference`,
        `step ${quoted} was first started ${step.firstAgeMs} ms ago, longer than the provider remembers references`,
      );
    }
    return call(name, options, fn);
  }

  function policyOf<Value>({ verify, onUnknown }: StepOptions<Value>): "rerun" | "hold" | "verify" {
    return verify === undefined ? (onUnknown ?? inherited()) : "verify";
  }

  function inherited(): "rerun" | "hold" {
    // A route that verifies as a whole has found nothing before this attempt: the same reference makes it safe.
    return onUnknown === "hold" ? "hold" : "rerun";
  }

  /**
   * A step that the record does not know, while one that a former attempt left without a result has not been asked for: it
   * may be the same call, renamed by a deploy, and its reference is another one. Or it is new, or came first this time: where
   * calling again is harmless anyway, the record does not wait for a person because of that.
   */
  function beware<Value>(name: string, options: StepOptions<Value>, steps: ReadonlyMap<string, Step>): void {
    const unmet = [...steps.values()].filter((step) => isUnfinished(step) && !running.has(step.name));
    const [first] = unmet;
    if (first === undefined) return;
    const others = JSON.stringify(first.name) + (unmet.length === 1 ? "" : ` and ${unmet.length - 1} more`);
    const message = `step ${JSON.stringify(name)} is new to this record, in which a former attempt left ${others} without a result; if that was renamed, this is the same call under another reference`;
    if (!isWarned) emit({ type: "warning", code: "step-unmet", message });
    isWarned = true;
    const policy = policyOf(options);
    if (policy !== "rerun") throw new OutcomeOpen(message, policy === "hold" ? message : undefined);
  }

  return {
    async step(name, options, fn) {
      if (typeof name !== "string" || name === "" || name.length > limits.stepNameLengthMax) {
        throw new IchidoError("usage-invalid", `a step needs a name of 1 to ${limits.stepNameLengthMax} characters`);
      }
      knownOptions<StepOptions<never>>("ctx.step", options as StepOptions<never>, stepNames);
      if (running.has(name) || finished.has(name)) {
        throw new IchidoError(
          "usage-invalid",
          `step ${JSON.stringify(name)} was already made in this attempt; its reference would be the same, so give each call a ` +
            "name of its own, such as one with the item's id",
        );
      }
      running.add(name);
      try {
        if (unheard.has(name)) {
          const value = unheard.get(name) as never;
          await finish(name, value);
          return value;
        }
        known ??= recorded().catch((error: unknown) => {
          known = undefined;
          throw error;
        });
        const steps = await known;
        const step = steps.get(name);
        if (step?.state === "finished") return decodeValue(step.result ?? new Uint8Array(0)) as never;
        if (step !== undefined) {
          steps.delete(name);
          // It may be met long after it was read. No reference is taken for younger than it is, and no call for older.
          starts.set(name, { firstMs: read.sentMs - step.firstAgeMs, lastMs: read.heardMs - step.ageMs });
        }
        const started = starts.get(name);
        if (started === undefined) {
          beware(name, options, steps);
          return await call(name, options, fn);
        }
        // The route was asked before this attempt began, and knows nothing of a call that was made since.
        const isAsked = step !== undefined || typeof onUnknown === "string" || options.onUnknown !== undefined;
        if (!isAsked && policyOf(options) === "rerun") {
          throw new OutcomeOpen(`step ${JSON.stringify(name)} has no recorded result, and verify is to be asked first`);
        }
        const nowMs = environment.monotonicMs();
        const ageMs = Math.round(nowMs - started.lastMs);
        return await meet({ name, ageMs, firstAgeMs: Math.round(nowMs - started.firstMs) }, options, fn);
      } finally {
        running.delete(name);
      }
    },
    get unfinished() {
      return open.size > 0;
    },
  };
}
