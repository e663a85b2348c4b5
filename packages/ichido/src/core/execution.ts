/** One attempt that owns its key: from the grant to the moment its outcome is written down or handed over. */
import { answerOf } from "./answer.ts";
import { createCommit, type Commit, type Provided } from "./commit.ts";
import { contextOf } from "./context.ts";
import type { Execution, HandlerOutcome, Settled } from "./decision.ts";
import { isInDoubt } from "./doubt.ts";
import type { EngineParts } from "./engine-parts.ts";
import { isTrusted, type LiveClaim } from "./heartbeat.ts";
import type { LateOutcome, LateWrite } from "./late-writes.ts";
import type { NeutralResponse } from "./message.ts";
import type { StepOptions } from "./options.ts";
import type { StoredResponse } from "./record.ts";
import { recordedOf, tombstoneOf, verdictOn } from "./recorder.ts";
import { createRendering } from "./rendering.ts";
import { referenceOf } from "./reference.ts";
import type { Ask, Grant } from "./ruling.ts";
import { keyHashOf, localIdOf } from "./scope.ts";
import { createSteps, FenceLost, OutcomeOpen, type Steps } from "./steps.ts";
import type { Claim, Fenced } from "./store.ts";
import { isUnstorable } from "./store-calls.ts";

/** What the engine keeps in hand beyond what an adapter sees. */
export interface LiveExecution extends Execution {
  /** The handler was called. Before that, a shutdown may give the key back. */
  started: boolean;
  /** Resolves when the outcome was written, handed over or given up. */
  readonly done: Promise<void>;
  answer: Provided | undefined;
}

export interface LeaseExecution extends LiveExecution {
  /** Stores an answer that was found rather than made. */
  adopt(response: StoredResponse): Promise<Fenced>;
  /** Ends the lease, leaving the record to `onUnknown`. */
  handOver(): Promise<void>;
  /** Nothing ran: the key is free again. */
  giveBack(): Promise<void>;
  /** False once the lease can no longer be counted on: the handler must not start. */
  isTrusted(): boolean;
}

type Body = Pick<LateOutcome, "bytes" | "dropBody">;

/** Lines added where the answer is true but could not be written down. */
const notStored: Settled = { kind: "send", addHeaders: [["idempotency-stored", "false"]] };
const sendAsIs: Settled = { kind: "send", addHeaders: [] };

const empty = new Uint8Array(0);

export function createExecution(
  parts: EngineParts,
  granted: {
    readonly ask: Ask<never>;
    readonly claim: Claim;
    readonly grant: Grant;
    /** When the claim was sent: its lease may have begun then. */
    readonly claimedMs: number;
  },
): LeaseExecution {
  const { settings, calls, emit, answers } = parts;
  const { environment, faults } = settings;
  const { ask, claim, grant } = granted;
  const { identity, route } = ask;
  const startedMs = environment.monotonicMs();
  const { operation } = identity;
  /** Made when a handler asks for it: most never do. */
  let abort: AbortController | undefined;
  let abortedBy: Error | undefined;
  const done = Promise.withResolvers<void>();
  const provided = Promise.withResolvers<NeutralResponse>();
  let releasing = false;
  let answered = false;
  let ended = false;
  let late: LateWrite | undefined;
  let settling: Promise<Settled> | undefined;

  const live: LiveClaim = {
    renewal: { ...claim, leaseMs: route.leaseMs },
    confirmedMs: granted.claimedMs,
    startedMs,
    lost: false,
    lose(reason) {
      emit({ type: "lease-lost", operation, keyHash: keyHashOf(identity), reason });
      abortBy(new FenceLost(`the lease of this attempt was lost (${reason})`));
      if (reason !== "execution-limit") return;
      end(undefined);
      letGo();
    },
  };
  parts.heartbeat.add(live);

  function abortBy(reason: Error): void {
    abortedBy ??= reason;
    abort?.abort(abortedBy);
  }

  function signal(): AbortSignal {
    abort ??= new AbortController();
    if (abortedBy !== undefined) abort.abort(abortedBy);
    return abort.signal;
  }

  /** From here on this process has no more to do with the record. */
  function letGo(): void {
    if (ended) return;
    ended = true;
    parts.heartbeat.remove(live);
    late?.stop();
    done.resolve();
  }

  /** The caller has its answer. Until the store has the outcome too, the lease is kept. */
  function end(status: number | undefined): void {
    if (late === undefined) letGo();
    if (answered) return;
    answered = true;
    if (!execution.started) return;
    const durationMs = environment.monotonicMs() - startedMs;
    const { attempt } = grant;
    const observed = !route.enforce;
    emit({
      type: "request",
      operation,
      outcome: "executed",
      observed,
      status,
      durationMs,
      keyHash: keyHashOf(identity),
      attempt,
    });
  }

  /** The key is given away: the handler must start nothing more in its name. */
  function stop(): void {
    abortBy(new FenceLost("this attempt was handed over"));
  }

  /** The context made the answer; whatever the handler writes is not sent. */
  function provide(made: Provided): void {
    execution.answer ??= made;
    const { response } = execution.answer;
    provided.resolve(response);
    rendering.end(() => ({ kind: "replace", response }));
    end(response.status);
  }

  function fenced(verb: string, result: Fenced): Fenced {
    if (result === "stale") emit({ type: "fence-rejected", operation, keyHash: keyHashOf(identity), verb });
    return result;
  }

  /** Goes on trying after the caller was answered, with the heartbeat. */
  function writeLater(write: () => Promise<Fenced>, body?: Body): void {
    if (ended) return;
    late = parts.lateWrites.add({
      id: localIdOf(identity),
      startedMs,
      bytes: 0,
      ...body,
      write,
      onEnd() {
        late = undefined;
        if (answered) letGo();
      },
    });
    if (late !== undefined) return;
    const message = `${operation}: too many outcomes wait for the store; this one is left to onUnknown`;
    emit({ type: "warning", code: "late-writes-full", message });
  }

  /** `failed`: nobody knows yet; the write goes on in the background. */
  async function writeDown(verb: string, write: () => Promise<Fenced>, body?: Body): Promise<Fenced | "failed"> {
    const writeFenced = async (): Promise<Fenced> => fenced(verb, await write());
    try {
      return await writeFenced();
    } catch (error) {
      emit({ type: "not-stored", operation, keyHash: keyHashOf(identity), error });
      writeLater(writeFenced, body);
      return "failed";
    }
  }

  /**
   * An answer without its body is worth more than none: it says that the operation was done, or is open. So the body goes
   * where the store can never take it (too large for it), and where there is no room to wait with it.
   */
  function writeAnswer(
    verb: string,
    response: StoredResponse,
    write: (kept: StoredResponse) => Promise<Fenced>,
  ): Promise<Fenced | "failed"> {
    let kept = response;
    function dropBody(code: string, why: string): void {
      kept = tombstoneOf(response);
      emit({ type: "warning", code, message: `${operation}: ${why}; the answer is kept without its body` });
    }
    async function writeKept(): Promise<Fenced> {
      try {
        return await write(kept);
      } catch (error) {
        if (!isUnstorable(error) || kept.kind === "tombstone") throw error;
        dropBody("answer-too-large", "the store cannot take an answer of this size");
        return write(kept);
      }
    }
    return writeDown(verb, writeKept, {
      bytes: response.body.length,
      dropBody: () => dropBody("late-body-dropped", "too many bytes wait for the store"),
    });
  }

  async function keep(response: StoredResponse): Promise<Settled> {
    const result = await writeAnswer("complete", response, (kept) => calls.complete({ ...claim, response: kept }));
    // In observe mode a caller gets what its own handler answered, whatever became of the record.
    if (result === "stale")
      return route.enforce ? { kind: "replace", response: await answers.fromRecord(ask) } : sendAsIs;
    if (result === "ok" && grant.origin === "new") {
      parts.replays?.put(ask, response, grant.expiresAtMs - grant.createdAtMs);
    }
    return result === "failed" && route.enforce ? notStored : sendAsIs;
  }

  async function release(): Promise<Settled> {
    await writeDown("release", () => calls.release(claim));
    return sendAsIs;
  }

  /**
   * Nothing is known of what the handler did. Finished steps and a transaction that was rolled back tell of themselves
   * alone: a call made outside them may have happened, so only `rerun` gives the key back, or `ctx.release()`.
   */
  async function leaveOpen(holdReason: string): Promise<Settled> {
    if (route.onUnknown === "rerun" && steps?.unfinished !== true) return release();
    const hold = route.onUnknown === "hold" ? { holdReason } : {};
    await writeDown("suspend", () => calls.suspend({ ...claim, ...hold }));
    return sendAsIs;
  }

  async function conclude(outcome: HandlerOutcome): Promise<Settled> {
    await commit?.underWay;
    if (commit?.pending === true) {
      const made = await commit.resolve();
      if (made !== undefined) provide(made);
    }
    if (execution.answer !== undefined) return { kind: "replace", response: execution.answer.response };
    if (releasing) return release();
    if (outcome.kind !== "answered") {
      return leaveOpen(outcome.kind === "threw" ? "the handler threw" : "the connection broke under the answer");
    }
    const { response } = outcome;
    const verdict = verdictOn(response, route.keep);
    if (verdict === "release") return release();
    if (verdict === "open") return leaveOpen(`the handler answered ${response.status}`);
    return keep(response.body.length > route.bodyBytesMax ? tombstoneOf(response) : recordedOf(response));
  }

  /** The first end of an attempt is its only one. */
  function settled(status: number | undefined, work: () => Promise<Settled>): Promise<Settled> {
    settling ??= settledOnce(status, work);
    return settling;
  }

  async function settledOnce(status: number | undefined, work: () => Promise<Settled>): Promise<Settled> {
    try {
      await faults?.("after-handler");
      return await work();
    } catch (error) {
      emit({ type: "not-stored", operation, keyHash: keyHashOf(identity), error });
      return route.enforce ? notStored : sendAsIs;
    } finally {
      end(status);
    }
  }

  /** `notedMs`: a step was noted by a call sent then, which leaves at least half of the lease (see `startStep`). */
  function isLeaseTrusted(notedMs?: number): boolean {
    if (notedMs !== undefined) live.confirmedMs = Math.max(live.confirmedMs, notedMs - route.leaseMs / 2);
    // Left open, or another's: the record is up to the reconciler and to people, whatever this handler still does.
    const isOver = execution.answer !== undefined && execution.answer.kind !== "own";
    return abortedBy === undefined && !isOver && isTrusted(live, environment.monotonicMs());
  }

  const rendering = createRendering(() => execution);

  /** The framework has answered already, and nothing of that answer is true. */
  function undone(): void {
    if (execution.answer !== undefined) return;
    rendering.end(() =>
      settled(undefined, async () => {
        await leaveOpen("the transaction was not committed");
        return { kind: "replace", response: await answers.fromRecord(ask, true) };
      }),
    );
  }

  const reference = (name: string): string => referenceOf(identity, grant.canonical, name);
  // Both are made when a handler asks for them.
  let steps: Steps | undefined;
  let commit: Commit | undefined;

  function stepsOf(): Steps {
    steps ??= createSteps({
      claim,
      stepsStarted: grant.stepsStarted,
      leaseMs: route.leaseMs,
      onUnknown: route.onUnknown,
      verifyMs: settings.verifyMs,
      storeTimeoutMs: settings.storeTimeoutMs,
      environment,
      calls,
      signal: signal(),
      isTrusted: isLeaseTrusted,
      reference,
      emit,
    });
    return steps;
  }

  function commitOf(): Commit {
    const isSettled = (): boolean => settling !== undefined;
    const { render } = rendering;
    commit ??= createCommit(parts, { ask, claim, isSettled, provide, render });
    return commit;
  }

  /** An attempt that must stop answers from the record, whatever the framework makes of the error. */
  async function stoppable<Value>(work: () => Promise<Value>): Promise<Value> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof FenceLost) {
        emit({ type: "fence-rejected", operation, keyHash: keyHashOf(identity), verb: "step" });
        provide({ kind: "lost", response: await answers.fromRecord(ask) });
      } else if (error instanceof OutcomeOpen) {
        const { holdReason } = error;
        const hold = holdReason === undefined ? {} : { holdReason };
        await writeDown("suspend", () => calls.suspend({ ...claim, ...hold }));
        provide({ kind: "open", response: answers.whileOpen(ask, holdReason) });
      }
      throw error;
    }
  }

  const context = contextOf(
    {
      key: identity.key,
      attempt: grant.attempt,
      fence: grant.fence,
      reference,
      step: <Value>(name: string, ...rest: readonly unknown[]): Promise<Value> => {
        const [options, fn] = rest.length > 1 ? rest : [{}, rest[0]];
        return stoppable(() => stepsOf().step(name, options as StepOptions<Value>, fn as () => Value));
      },
      transaction: async (...rest: readonly unknown[]) => {
        try {
          return await stoppable(() => commitOf().transaction(rest));
        } catch (error) {
          undone();
          throw error;
        }
      },
      complete: (handle, made) => stoppable(() => commitOf().complete(handle, made)),
      release() {
        releasing = true;
      },
      async unknown(interim) {
        const response = answerOf(interim);
        const result = await writeAnswer("suspend", recordedOf(response), (interim) =>
          calls.suspend({ ...claim, interim }),
        );
        if (result === "stale") provide({ kind: "lost", response: await answers.fromRecord(ask) });
        else provide({ kind: "open", response });
      },
    },
    signal,
  );

  const execution: LeaseExecution = {
    context,
    bodyBytesMax: route.bodyBytesMax,
    started: false,
    done: done.promise,
    provided: provided.promise,
    answer: undefined,
    settle: (outcome) =>
      rendering.take(outcome) ??
      settled(outcome.kind === "answered" ? outcome.response.status : undefined, () => conclude(outcome)),
    beginStream: (head) =>
      settled(head.status, async () => {
        await commit?.underWay;
        const verdict = releasing ? "release" : verdictOn(head, route.keep);
        if (verdict === "keep" && execution.answer === undefined && commit?.pending !== true)
          return keep(tombstoneOf(head));
        return conclude({ kind: "answered", response: { ...head, body: empty } });
      }),
    async adopt(response) {
      try {
        return fenced("complete", await calls.complete({ ...claim, response }));
      } finally {
        end(response.status);
      }
    },
    isTrusted: () => isLeaseTrusted(),
    async handOver() {
      stop();
      // An outcome that is known goes before handing over what is not.
      await (late === undefined ? calls.suspend(claim) : late.now()).catch(() => "stale");
      end(undefined);
      letGo();
    },
    async giveBack() {
      stop();
      const write = (): Promise<Fenced> => (isInDoubt(grant) ? calls.suspend(claim) : calls.release(claim));
      // Nothing ran: that must not end as a doubt, which under `hold` would wait for a person.
      await write().catch(() => calls.giveBackLater(claim));
      end(undefined);
    },
  };
  return execution;
}
