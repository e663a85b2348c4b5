/** One attempt in transaction mode: the handler runs inside the open transaction and its end decides over it. */
import { answerOf } from "./answer.ts";
import { contextOf } from "./context.ts";
import type { HandlerOutcome, Settled } from "./decision.ts";
import type { Ask } from "./ruling.ts";
import type { Environment } from "./environment.ts";
import { IchidoError } from "./errors.ts";
import type { IchidoListener } from "./events.ts";
import type { Grant, LiveExecution } from "./execution.ts";
import type { FaultPoint } from "./faults.ts";
import type { NeutralResponse } from "./message.ts";
import type { AnswerLike } from "./options.ts";
import type { OwnerToken, StoredResponse } from "./record.ts";
import { recordedOf, tombstoneOf, verdictOn } from "./recorder.ts";
import { referenceOf } from "./reference.ts";
import { keyHashOf } from "./scope.ts";
import type { Claim } from "./store.ts";
import type { TransactionHandle } from "./transaction.ts";

/** What the handler's end means for the open transaction. */
export type Conclusion =
  | { readonly kind: "commit"; readonly response: StoredResponse }
  /** A body of `ctx.transaction` threw: its writes go, the answer that the handler made of that stays. */
  | { readonly kind: "apart"; readonly response: StoredResponse }
  | { readonly kind: "rollback" };

export interface AttemptParts<Native> {
  readonly environment: Environment;
  readonly emit: IchidoListener;
  readonly faults: FaultPoint | undefined;
  readonly truth: (ask: Ask<Native>) => Promise<NeutralResponse>;
  readonly unavailable: () => NeutralResponse;
}

export interface Opened<Native> {
  readonly ask: Ask<Native>;
  readonly tx: unknown;
  readonly handle: TransactionHandle;
  readonly grant: Grant;
  readonly owner: OwnerToken;
}

export interface OpenAttempt {
  readonly claim: Claim;
  readonly execution: LiveExecution;
  readonly concluded: Promise<Conclusion>;
  finish(fate: "committed" | "rolled-back" | "lost" | "failed" | "unknown", error?: unknown): void;
}

function ending(): Error {
  return new Error("the transaction of this attempt is over");
}

export function createAttempt<Native>(
  parts: AttemptParts<Native>,
  { ask, tx, handle, grant, owner }: Opened<Native>,
): OpenAttempt {
  const { environment, emit, faults } = parts;
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
  let spoilt = false;

  function conclude(conclusion: Conclusion): Promise<Settled> {
    concluded.resolve(conclusion);
    return settled.promise;
  }

  function keptOf(response: NeutralResponse): StoredResponse {
    return response.body.length > route.bodyBytesMax ? tombstoneOf(response) : recordedOf(response);
  }

  function settle(outcome: HandlerOutcome): Promise<Settled> {
    const keeps = !releasing && outcome.kind === "answered" && verdictOn(outcome.response, route.keep) === "keep";
    if (!keeps) return conclude({ kind: "rollback" });
    return conclude({ kind: spoilt ? "apart" : "commit", response: keptOf(outcome.response) });
  }

  function leaseOnly(what: string): IchidoError {
    return new IchidoError(
      "option-invalid",
      `${what} belongs to lease mode: in transaction mode nothing of this attempt is visible before its commit, so an ` +
        'outside call could not be recorded. Set mode: "lease" on the route',
    );
  }

  function oneBody(): IchidoError {
    return new IchidoError(
      "option-invalid",
      "this attempt has run a body of ctx.transaction already, and there is one transaction: it is committed or undone as a whole",
    );
  }

  function signal(): AbortSignal {
    abort ??= new AbortController();
    if (over) abort.abort(ending());
    return abort.signal;
  }

  const context = contextOf(
    {
      key: identity.key,
      attempt: grant.attempt,
      fence: grant.fence,
      reference: (name) => referenceOf(identity, grant.canonical, name),
      step: () => Promise.reject(leaseOnly("ctx.step")),
      complete: () => Promise.reject(leaseOnly("ctx.complete")),
      unknown: () => Promise.reject(leaseOnly("ctx.unknown")),
      async transaction(...rest: readonly unknown[]) {
        const fn = rest.at(-1) as (tx: unknown, on: TransactionHandle) => AnswerLike | Promise<AnswerLike>;
        if (spoilt || execution.answer !== undefined) throw oneBody();
        let made: AnswerLike;
        let response: NeutralResponse;
        try {
          made = await fn(tx, handle);
          response = answerOf(made);
        } catch (error) {
          spoilt = true;
          throw error;
        }
        execution.answer = { kind: "own", response };
        const result = await conclude({ kind: "commit", response: keptOf(response) });
        provided.resolve(result.kind === "replace" ? result.response : response);
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
      if (faults !== undefined) await faults("after-handler");
      const result = await settle(outcome);
      const { answer } = execution;
      return answer === undefined || result.kind === "replace"
        ? result
        : { kind: "replace", response: answer.response };
    },
    beginStream: (head) => {
      const keeps = !releasing && verdictOn(head, route.keep) === "keep";
      if (!keeps) return conclude({ kind: "rollback" });
      return conclude({ kind: spoilt ? "apart" : "commit", response: tombstoneOf(head) });
    },
    // There is no lease to lose: the transaction itself holds the key.
    isTrusted: () => true,
    adopt: async () => "stale",
    handOver: async () => void conclude({ kind: "rollback" }),
    giveBack: async () => void conclude({ kind: "rollback" }),
  };

  function settledBy(fate: "committed" | "rolled-back" | "failed" | "unknown"): Settled {
    if (fate === "committed" || fate === "rolled-back") return { kind: "send", addHeaders: [] };
    // What the handler answered speaks of writes that are gone, or may be: it must not be sent.
    return { kind: "replace", response: parts.unavailable() };
  }

  return {
    claim,
    execution,
    concluded: concluded.promise,
    finish(fate, error) {
      if (error !== undefined) emit({ type: "not-stored", operation, keyHash: keyHashOf(identity), error });
      if (fate === "lost") {
        emit({ type: "fence-rejected", operation, keyHash: keyHashOf(identity), verb: "complete" });
        void parts.truth(ask).then((response) => settled.resolve({ kind: "replace", response }));
      } else {
        settled.resolve(settledBy(fate));
      }
      over = true;
      abort?.abort(ending());
      done.resolve();
      const durationMs = environment.monotonicMs() - ask.startedMs;
      const { attempt } = grant;
      emit({
        type: "request",
        operation,
        outcome: "executed",
        observed: false,
        status: undefined,
        durationMs,
        keyHash: keyHashOf(identity),
        attempt,
      });
    },
  };
}
