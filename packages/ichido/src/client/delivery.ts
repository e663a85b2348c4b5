/** Sends one attempt until its outcome is known, or until the client has to report it as unknown. */
import type { Attempt, Attempts } from "./attempt.ts";
import { isOffline, untilOnline, type ClientClock } from "./clock.ts";
import { expectsJson, isProven, looksOwn, type IsAnswer } from "./evidence.ts";
import type { ServerPolicy } from "./policy.ts";
import { isReplay } from "./replay-marker.ts";
import { isInterim, problemIn, readAnswer, type Answer, type Result, type UnknownReason } from "./result.ts";
import { isFinal, meaningOf, pauseMs, retryAfterIn, retryAfterMs, type Meaning } from "./retry-policy.ts";
import type { ProblemDocument, RetryBudget, RetryOptions } from "./retry-policy.ts";

export interface Delivery {
  readonly attempt: Attempt;
  readonly url: string | Request;
  readonly init: RequestInit & { readonly headers: Headers };
  /** Hash of what is sent; undefined where the content cannot be compared. */
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
  readonly isAnswer: IsAnswer | undefined;
  /** The policy that is known. With `ask` it is read first, which is worth it before an old attempt is sent again. */
  readonly policy: (ask: boolean) => Promise<ServerPolicy | undefined>;
}

/** Also a server that says "ask again at once" is not asked in a tight loop. */
const pollPauseMsMin = 100;
/** A younger attempt is inside any retention. */
const freshMs = 60_000;
/** Enough to wait for a gateway during a deploy, too few to ask a login page for minutes. */
const unprovenMax = 3;
/** For services without a replay marker: where no other send is known, the client believes the second refusal. */
const refusalsMax = 2;
/** The service says that it did nothing. */
const nothingDone = [425, 429];

/** The whole answer or an error. */
export async function ask(
  fetch: typeof globalThis.fetch | undefined,
  url: string | Request,
  init: RequestInit,
  callTimeoutMs: number,
  signal?: AbortSignal,
): Promise<Answer> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(new Error(`no answer in ${Math.round(callTimeoutMs)} ms`)), callTimeoutMs);
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
  const { sentAtMs, sends } = await attempts.markSent(attempt, delivery.content);
  const firstSentMs = sentAtMs ?? clock.nowMs();
  let lookedMs = firstSentMs;
  /** Past the retention the server runs the key as new: asking again could take effect twice. */
  const isExpired = async (): Promise<boolean> => {
    const nowMs = clock.nowMs();
    const isWorthAsking = nowMs - lookedMs > freshMs;
    if (isWorthAsking) lookedMs = nowMs;
    const policy = await parts.policy(isWorthAsking);
    const ageMs = nowMs - firstSentMs;
    // A time of sending in the future means that the clock was set back since: the age is not known.
    return ageMs < -freshMs || ageMs >= (policy?.retentionMs ?? parts.retentionMs);
  };
  let inDoubt = attempt.resumed || sentAtMs !== undefined;
  let unproven = 0;
  const wantsJson = expectsJson(init.headers);

  for (;;) {
    // Before every try: a device may sleep for days in the middle of a pause, and its timers with it.
    const mayBeOld = sentAtMs !== undefined || tries > 0;
    if (mayBeOld && !isAborted(signal) && (await isExpired())) return unknown("expired");
    if (isAborted(signal)) return unknown("aborted");
    tries += 1;
    answer = problem = cause = undefined;
    let meaning: Meaning = "again";
    try {
      answer = await ask(parts.fetch, url, init, Math.max(1, Math.min(retry.callTimeoutMs, leftMs())), signal);
    } catch (error) {
      cause = error;
    }
    if (answer === undefined) inDoubt = true;
    else {
      problem = problemIn(answer);
      meaning = meaningOf(answer.status, answer.headers, problem, isInterim(answer));
      const isOwn =
        !isFinal(meaning) ||
        isProven(answer, problem) ||
        (parts.isAnswer?.(answer) ?? looksOwn(answer, wantsJson, sends === 0 && !inDoubt));
      if (!isOwn) {
        unproven += 1;
        inDoubt ||= answer.status < 400 || answer.redirected;
        if (inDoubt && unproven >= unprovenMax) return unknown("unproven");
        meaning = inDoubt || unproven < refusalsMax ? "again" : "refused";
      } else {
        unproven = 0;
        inDoubt ||= meaning === "pending" || (meaning === "again" && !nothingDone.includes(answer.status));
      }
      if (meaning === "open") return unknown("server");
      const told = { key: attempt.key, tries, answer, problem };
      if (meaning === "refused") {
        if (!inDoubt) await attempts.settle(attempt, meaning, sends);
        return { ...told, kind: "declined", keyKept: true };
      }
      if (meaning === "declined") {
        const isGone = await attempts.settle(attempt, meaning, isReplay(answer.headers) ? undefined : sends);
        return { ...told, kind: meaning, keyKept: !isGone };
      }
      if (meaning === "done") {
        await attempts.settle(attempt, meaning);
        budget.refill();
        return { ...told, kind: meaning, replayed: problem !== undefined || isReplay(answer.headers) };
      }
    }
    if (isAborted(signal)) return unknown("aborted");
    if (leftMs() <= 0) return unknown("deadline");
    if (answer === undefined && isOffline()) {
      // The device is offline, and nothing is wrong with the server: this counts neither as a failure nor against the
      // budget.
      tell(leftMs());
      await untilOnline(leftMs(), signal);
      continue;
    }
    const isPending = meaning === "pending";
    // Two cases are no failure: a request that still runs, and a refusal that only needs confirmation.
    const isFree = isPending || (unproven > 0 && !inDoubt);
    failures += isFree ? 0 : 1;
    if (failures >= retry.triesMax) return unknown("tries");
    const askedMs = answer && (retryAfterMs(answer.headers, clock.nowMs()) ?? retryAfterIn(problem));
    const jitteredMs = pauseMs(retry, Math.max(1, isFree ? tries : failures), askedMs, clock.random());
    const waitMs = isPending ? Math.max(pollPauseMsMin, jitteredMs) : jitteredMs;
    if (waitMs >= leftMs()) return unknown("deadline");
    if (!isFree && !budget.take()) return unknown("budget");
    tell(waitMs);
    await clock.sleep(waitMs, signal);
  }
}
