/**
 * One attempt in transaction mode: the handler runs inside the open transaction, and its end decides over it. While a body
 * of `ctx.transaction` runs, nothing is decided: whoever answers meanwhile, and a time that is up, only see to it that
 * nothing is kept of the attempt; its transaction ends when the body has ended.
 */
import { contextOf } from "./context.ts";
import type { Settled } from "./decision.ts";
import type { EngineParts } from "./engine-parts.ts";
import { IchidoError } from "./errors.ts";
import type { LiveExecution } from "./execution.ts";
import type { AnswerHead, NeutralResponse } from "./message.ts";
import type { AnswerLike } from "./options.ts";
import type { OwnerToken, StoredResponse } from "./record.ts";
import { recordedOf, tombstoneOf, verdictOn } from "./recorder.ts";
import { createRendering } from "./rendering.ts";
import { referenceOf } from "./reference.ts";
import type { Ask, Grant } from "./ruling.ts";
import { keyHashOf } from "./scope.ts";
import type { Claim } from "./store.ts";
import { overdue } from "./overdue.ts";
import { GivenUp, type TransactionHandle } from "./transaction.ts";

/** What the handler's end means for the open transaction. */
export type Conclusion =
  | { readonly kind: "commit"; readonly response: StoredResponse }
  /** A body of `ctx.transaction` threw: its writes go, the answer that the handler made of that stays. */
  | { readonly kind: "answer-only"; readonly response: StoredResponse }
  | { readonly kind: "rollback" };

export interface Opened {
  readonly ask: Ask<never>;
  readonly tx: unknown;
  readonly handle: TransactionHandle;
  readonly grant: Grant;
  readonly owner: OwnerToken;
}

export interface OpenAttempt {
  readonly claim: Claim;
  readonly execution: LiveExecution;
  /** What is to become of the transaction, once no body runs on it. */
  readonly concluded: Promise<Conclusion>;
  conclude(conclusion: Conclusion): void;
  /** Its time is up: the caller is answered now, and nothing is kept. */
  overdue(): void;
  /** The transaction has ended. `undone`: nothing of it was committed, or nobody can tell. */
  finish(end: "committed" | "rolled-back" | "lost" | "undone", error?: unknown): void;
}

function transactionOverError(): IchidoError {
  return new IchidoError("transaction-aborted", "the transaction of this attempt is over");
}

const sendAsIs: Settled = { kind: "send", addHeaders: [] };

export function createAttempt(
  { settings, emit, answers, bodies }: EngineParts,
  { ask, tx, handle, grant, owner }: Opened,
): OpenAttempt {
  const { environment, faults } = settings;
  const { identity, route } = ask;
  const { operation } = identity;
  const claim: Claim = { identity, owner, fence: grant.fence };
  /** Made when a handler asks for it: most never do. */
  let abort: AbortController | undefined;
  let over = false;
  const concluded = Promise.withResolvers<Conclusion>();
  const done = Promise.withResolvers<void>();
  const provided = Promise.withResolvers<NeutralResponse>();
  const settled = Promise.withResolvers<Settled>();
  let releasing = false;
  /** `closed`: what becomes of the transaction is decided, and no body may begin any more. */
  let body: "none" | "running" | "threw" | "closed" = "none";
  /** Somebody else has answered while the body ran: nothing is kept. */
  let overtaken = false;
  let failure: unknown;
  /** What the handler answered, or its caller was told in its place. */
  let status: number | undefined;

  function conclude(conclusion: Conclusion): Promise<Settled> {
    body = "closed";
    concluded.resolve(conclusion);
    return settled.promise;
  }

  function keptOf(response: NeutralResponse): StoredResponse {
    return response.body.length > route.bodyBytesMax ? tombstoneOf(response) : recordedOf(response);
  }

  /** What the handler answered speaks of writes that are gone, or may be: it must not be sent. */
  function refused(response = answers.unavailable()): Settled {
    ({ status } = response);
    return { kind: "replace", response };
  }

  /** What an answer that was not made by `ctx.transaction` means, or that there is none. */
  function answered(head?: AnswerHead, kept?: () => StoredResponse): Promise<Settled> {
    status ??= head?.status;
    const keeps = head !== undefined && !releasing && verdictOn(head, route.keep) === "keep";
    if (body === "running" || overtaken) {
      overtaken = true;
      // An answer that would be final is none: the next attempt runs.
      return Promise.resolve(keeps ? refused(answers.leftRunning()) : sendAsIs);
    }
    if (!keeps || kept === undefined) return conclude({ kind: "rollback" });
    return conclude({ kind: body === "threw" ? "answer-only" : "commit", response: kept() });
  }

  function needsLeaseMode(what: string): IchidoError {
    return new IchidoError(
      "usage-invalid",
      `${what} belongs to lease mode: in transaction mode nothing of this attempt is visible before its commit, so an ` +
        'outside call could not be recorded. Set mode: "lease" on the route',
    );
  }

  function secondBodyError(): IchidoError {
    return new IchidoError(
      "usage-invalid",
      "this attempt has run a body of ctx.transaction or was answered already, and there is one transaction: it is committed or undone as a whole",
    );
  }

  function signal(): AbortSignal {
    abort ??= new AbortController();
    if (over) abort.abort(transactionOverError());
    return abort.signal;
  }

  const rendering = createRendering(() => execution);
  const context = contextOf(
    {
      key: identity.key,
      attempt: grant.attempt,
      fence: grant.fence,
      reference: (name) => referenceOf(identity, grant.canonical, name),
      step: () => Promise.reject(needsLeaseMode("ctx.step")),
      complete: () => Promise.reject(needsLeaseMode("ctx.complete")),
      unknown: () => Promise.reject(needsLeaseMode("ctx.unknown")),
      async transaction(...rest: readonly unknown[]) {
        const fn = rest.at(-1) as (tx: unknown, on: TransactionHandle) => AnswerLike | Promise<AnswerLike>;
        if (body !== "none") throw secondBodyError();
        body = "running";
        let made: AnswerLike;
        let response: NeutralResponse;
        try {
          made = await fn(tx, handle);
          response = await rendering.render(made);
        } catch (error) {
          body = "threw";
          rendering.end(() => ({ kind: "replace", response: answers.unavailable() }));
          if (overtaken) void conclude({ kind: "rollback" });
          throw error;
        }
        if (overtaken) {
          void conclude({ kind: "rollback" });
          throw new IchidoError(
            "transaction-aborted",
            "this attempt was answered while the body of ctx.transaction ran: nothing of it is kept",
          );
        }
        execution.answer = { kind: "own", response };
        status = response.status;
        const result = await conclude({ kind: "commit", response: keptOf(response) });
        const sent = result.kind === "replace" ? result.response : response;
        provided.resolve(sent);
        rendering.end(() => ({ kind: "replace", response: sent }));
        // Nobody may go on as if it were committed.
        if (result.kind === "replace") throw failure ?? transactionOverError();
        return made;
      },
      release() {
        releasing = true;
      },
    },
    signal,
  );

  const execution: LiveExecution = {
    context,
    bodyBytesMax: route.bodyBytesMax,
    started: false,
    done: done.promise,
    provided: provided.promise,
    answer: undefined,
    settle: async (outcome) => {
      const rendered = rendering.take(outcome);
      if (rendered !== undefined) return rendered;
      if (faults !== undefined) await faults("after-handler");
      const result = await (outcome.kind === "answered"
        ? answered(outcome.response, () => keptOf(outcome.response))
        : answered());
      const { answer } = execution;
      return answer === undefined || result.kind === "replace"
        ? result
        : { kind: "replace", response: answer.response };
    },
    beginStream: (head) => answered(head, () => tombstoneOf(head)),
  };

  return {
    claim,
    execution,
    concluded: concluded.promise,
    conclude: (conclusion) => void conclude(conclusion),
    overdue() {
      emit(overdue(operation, bodies.timeoutMs));
      const response = answers.leftRunning();
      status ??= response.status;
      provided.resolve(response);
      settled.resolve({ kind: "replace", response });
      over = true;
      abort?.abort(new GivenUp());
      void answered();
      handle.giveUp?.();
    },
    finish(end, error) {
      failure = error;
      if (error !== undefined) emit({ type: "not-stored", operation, keyHash: keyHashOf(identity), error });
      if (end === "lost") {
        emit({ type: "fence-rejected", operation, keyHash: keyHashOf(identity), verb: "complete" });
        void answers.fromRecord(ask, true).then((response) => settled.resolve({ kind: "replace", response }));
      } else if (end === "undone") {
        settled.resolve(refused());
      } else {
        settled.resolve(sendAsIs);
      }
      over = true;
      abort?.abort(transactionOverError());
      done.resolve();
      if (!execution.started) return;
      const durationMs = environment.monotonicMs() - ask.startedMs;
      const { attempt } = grant;
      emit({
        type: "request",
        operation,
        outcome: "executed",
        observed: false,
        status,
        durationMs,
        keyHash: keyHashOf(identity),
        attempt,
      });
    },
  };
}
