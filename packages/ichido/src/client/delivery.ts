/** Sends one attempt until its outcome is known, or until it must be said that it is not. */
import type { Attempt, Attempts } from "./attempt.ts";
import { isOffline, untilOnline, type ClientClock } from "./clock.ts";
import type { ServerPolicy } from "./policy.ts";
import { isReplay } from "./replay-marker.ts";
import { problemIn, readAnswer, type Answer, type Result, type UnknownReason } from "./result.ts";
import { meaningOf, pauseMs, retryAfterMs, type Meaning, type ProblemDocument } from "./retry-policy.ts";
import type { RetryBudget, RetryOptions } from "./retry-policy.ts";

export interface Delivery {
  readonly attempt: Attempt;
  readonly url: string | Request;
  readonly init: RequestInit;
  /** Hash of what is sent, where it can be told. */
  readonly content?: string | undefined;
  readonly retry: Required<RetryOptions>;
  readonly signal?: AbortSignal | undefined;
  readonly onRetry?: Attempt["onRetry"] | undefined;
}

export interface DeliveryParts {
  readonly fetch: typeof globalThis.fetch | undefined;
  readonly clock: ClientClock;
  readonly attempts: Pick<Attempts, "markSent" | "settle">;
  readonly budget: RetryBudget;
  readonly retentionMs: number;
  /** The policy that is known, or that is worth asking for before an old attempt is sent again. */
  readonly policy: (ask: boolean) => Promise<ServerPolicy | undefined>;
}

/** A server that says "ask again at once" is still not asked in a loop. */
const pollPauseMsMin = 100;
/** A younger attempt is inside any retention. */
const freshMs = 60_000;

/** The whole answer or an error. */
export async function ask(
  fetch: typeof globalThis.fetch | undefined,
  url: string | Request,
  init: RequestInit,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<Answer> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(new Error(`no answer in ${Math.round(timeoutMs)} ms`)), timeoutMs);
  const stop = (): void => limit.abort(signal?.reason);
  signal?.addEventListener("abort", stop);
  try {
    return await readAnswer(await (fetch ?? globalThis.fetch)(url, { ...init, signal: limit.signal }));
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
}

/** A function, because the signal may change between two looks. */
const isAborted = (signal: AbortSignal | undefined): boolean => signal?.aborted === true;

export async function deliver(parts: DeliveryParts, delivery: Delivery): Promise<Result> {
  const { clock, attempts, budget } = parts;
  const { attempt, signal, retry, url, init } = delivery;
  const elapsed = (): number => clock.elapsedMs?.() ?? clock.nowMs();
  const startedMs = elapsed();
  const leftMs = (): number => retry.deadlineMs - (elapsed() - startedMs);
  let tries = 0;
  let failures = 0;
  let answer: Answer | undefined;
  let problem: ProblemDocument | undefined;
  let cause: unknown;
  const unknown = (reason: UnknownReason): Result => ({
    kind: "unknown",
    reason,
    attempt: { ...attempt, resumed: attempt.resumed || tries > 0 },
    key: attempt.key,
    tries,
    answer,
    problem,
    cause,
  });
  const tell = (ms: number): void => (delivery.onRetry ?? attempt.onRetry)?.({ tries, pauseMs: ms });
  if (isAborted(signal)) return unknown("aborted");
  const sentAtMs = await attempts.markSent(attempt, delivery.content);
  if (sentAtMs !== undefined) {
    // Past its retention the server runs the key as new: asking again could do it twice.
    const ageMs = clock.nowMs() - sentAtMs;
    const policy = await parts.policy(ageMs > freshMs);
    if (ageMs >= (policy?.retentionMs ?? parts.retentionMs)) return unknown("expired");
  }

  for (;;) {
    if (isAborted(signal)) return unknown("aborted");
    tries += 1;
    answer = problem = cause = undefined;
    let meaning: Meaning = "again";
    try {
      answer = await ask(parts.fetch, url, init, Math.max(1, Math.min(retry.timeoutMs, leftMs())), signal);
    } catch (error) {
      cause = error;
    }
    if (answer !== undefined) {
      problem = problemIn(answer);
      meaning = meaningOf(answer.status, answer.headers, problem);
      if (meaning === "open") return unknown("server");
      if (meaning !== "again" && meaning !== "pending") {
        const told = { key: attempt.key, tries, answer, problem };
        if (meaning === "refused") return { ...told, kind: "declined", keyKept: true };
        await attempts.settle(attempt);
        if (meaning === "declined") return { ...told, kind: meaning, keyKept: false };
        budget.refill();
        return { ...told, kind: meaning, replayed: problem !== undefined || isReplay(answer.headers) };
      }
    }
    if (isAborted(signal)) return unknown("aborted");
    if (leftMs() <= 0) return unknown("deadline");
    if (answer === undefined && isOffline()) {
      // Nothing is wrong with the server: neither the tries nor the budget are spent on the way there.
      tell(leftMs());
      await untilOnline(leftMs(), signal);
      continue;
    }
    const isPending = meaning === "pending";
    failures += isPending ? 0 : 1;
    if (failures >= retry.tries) return unknown("tries");
    const askedMs = answer && retryAfterMs(answer.headers, clock.nowMs());
    const jitteredMs = pauseMs(retry, Math.max(1, isPending ? tries : failures), askedMs, clock.random());
    const waitMs = isPending ? Math.max(pollPauseMsMin, jitteredMs) : jitteredMs;
    if (waitMs >= leftMs()) return unknown("deadline");
    if (!isPending && !budget.take()) return unknown("budget");
    tell(waitMs);
    await clock.sleep(waitMs, signal);
  }
}
