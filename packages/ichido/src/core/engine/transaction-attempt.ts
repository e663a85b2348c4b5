/**
 * One attempt in transaction mode: the handler runs inside the open transaction, and its end decides over it. While a body
 * of `ctx.transaction` runs, nothing is decided: whoever answers meanwhile, and a time that is up, only see to it that
 * nothing is kept of the attempt; its transaction ends when the body has ended.
 */
import { Attempt, sendAsIs, type Granted } from "./attempt.ts";
import type { HandlerOutcome, Settled } from "../contract/decision.ts";
import type { EngineParts } from "./engine-parts.ts";
import { IchidoError } from "../contract/errors.ts";
import type { AnswerHead, NeutralResponse } from "../contract/message.ts";
import type { AnswerLike } from "../contract/options.ts";
import { overdue } from "./overdue.ts";
import type { StoredResponse } from "../contract/record.ts";
import { tombstoneOf, verdictOn } from "./recorder.ts";
import { GivenUp, type TransactionHandle } from "../contract/transaction.ts";

/** What the handler's end means for the open transaction. */
export type Conclusion =
  | { readonly kind: "commit"; readonly response: StoredResponse }
  /** A body of `ctx.transaction` threw: its writes go, the answer that the handler made of that stays. */
  | { readonly kind: "answer-only"; readonly response: StoredResponse }
  | { readonly kind: "rollback" };

/** How the transaction ended. `undone`: nothing of it was committed, or that is not known. */
export type TransactionEnd = "committed" | "rolled-back" | "lost" | "undone";

function transactionOverError(): IchidoError {
  return new IchidoError("transaction-aborted", "the transaction of this attempt is over");
}

function needsLeaseMode(what: string): Promise<never> {
  const message =
    `${what} belongs to lease mode: in transaction mode nothing of this attempt is visible before its commit, so an ` +
    'outside call could not be recorded. Set mode: "lease" on the route';
  return Promise.reject(new IchidoError("usage-invalid", message));
}

function secondBodyError(): IchidoError {
  return new IchidoError(
    "usage-invalid",
    "this attempt has run a body of ctx.transaction or was answered already, and there is one transaction: it is committed or undone as a whole",
  );
}

function overtakenError(): IchidoError {
  return new IchidoError(
    "transaction-aborted",
    "this attempt was answered while the body of ctx.transaction ran: nothing of it is kept",
  );
}

export class TransactionAttempt extends Attempt {
  readonly #tx: unknown;
  readonly #handle: TransactionHandle;
  readonly #concluded = Promise.withResolvers<Conclusion>();
  readonly #settled = Promise.withResolvers<Settled>();
  /** `closed`: what becomes of the transaction is decided, and no body may begin any more. */
  #body: "none" | "running" | "threw" | "closed" = "none";
  /** Something else answered while the body ran: nothing is kept. */
  #overtaken = false;
  #failure: unknown;
  /** What the handler answered, or what its caller got in its place. */
  #status: number | undefined;

  constructor(parts: EngineParts, granted: Granted, tx: unknown, handle: TransactionHandle) {
    super(parts, granted);
    this.#tx = tx;
    this.#handle = handle;
  }

  /** What is to become of the transaction, once no body runs on it. */
  get concluded(): Promise<Conclusion> {
    return this.#concluded.promise;
  }

  conclude(conclusion: Conclusion): Promise<Settled> {
    this.#body = "closed";
    this.#concluded.resolve(conclusion);
    return this.#settled.promise;
  }

  /** What the handler answered speaks of writes that are gone, or may be: it must not be sent. */
  #refused(response: NeutralResponse): Settled {
    this.#status = response.status;
    return { kind: "replace", response };
  }

  /** What an answer that was not made by `ctx.transaction` means, or that there is none. */
  #answered(head?: AnswerHead, kept?: () => StoredResponse): Promise<Settled> {
    this.#status ??= head?.status;
    const keeps = head !== undefined && !this.isReleased && verdictOn(head, this.ask.route.keep) === "keep";
    if (this.#body === "running" || this.#overtaken) {
      this.#overtaken = true;
      // An answer that would be final is none: the next attempt runs.
      return Promise.resolve(keeps ? this.#refused(this.parts.answers.leftRunning()) : sendAsIs);
    }
    if (!keeps || kept === undefined) return this.conclude({ kind: "rollback" });
    return this.conclude({ kind: this.#body === "threw" ? "answer-only" : "commit", response: kept() });
  }

  async settle(outcome: HandlerOutcome): Promise<Settled> {
    const rendered = this.rendering?.take(outcome);
    if (rendered !== undefined) return rendered;
    const { faults } = this.parts.settings;
    if (faults !== undefined) await faults("after-handler");
    const result = await (outcome.kind === "answered"
      ? this.#answered(outcome.response, () => this.keptOf(outcome.response))
      : this.#answered());
    if (this.answer === undefined || result.kind === "replace") return result;
    return { kind: "replace", response: this.answer.response };
  }

  beginStream(head: AnswerHead): Promise<Settled> {
    return this.#answered(head, () => this.signed(tombstoneOf(head)));
  }

  step(): Promise<never> {
    return needsLeaseMode("ctx.step");
  }

  complete(): Promise<never> {
    return needsLeaseMode("ctx.complete");
  }

  leaveUnknown(): Promise<never> {
    return needsLeaseMode("ctx.unknown");
  }

  async transaction(given: readonly unknown[]): Promise<AnswerLike> {
    const fn = given.at(-1) as (tx: unknown, handle: TransactionHandle) => AnswerLike | Promise<AnswerLike>;
    if (this.#body !== "none") throw secondBodyError();
    this.#body = "running";
    let made: AnswerLike;
    let response: NeutralResponse;
    try {
      made = await fn(this.#tx, this.#handle);
      response = await this.render(made);
    } catch (error) {
      this.#body = "threw";
      this.rendering?.end(() => ({ kind: "replace", response: this.parts.answers.unavailable() }));
      if (this.#overtaken) void this.conclude({ kind: "rollback" });
      throw error;
    }
    if (this.#overtaken) {
      void this.conclude({ kind: "rollback" });
      throw overtakenError();
    }
    this.answer = { kind: "own", response };
    this.#status = response.status;
    const result = await this.conclude({ kind: "commit", response: this.keptOf(response) });
    this.send(result.kind === "replace" ? result.response : response);
    // Nothing may go on as if it were committed.
    if (result.kind === "replace") throw this.#failure ?? transactionOverError();
    return made;
  }

  /** Its time is up: the caller is answered now, and nothing is kept. */
  overdue(): void {
    const { answers, bodies, emit } = this.parts;
    emit(overdue(this.ask.identity.operation, bodies.timeoutMs));
    const response = answers.leftRunning();
    this.#status ??= response.status;
    this.send(response);
    this.#settled.resolve({ kind: "replace", response });
    this.stop(new GivenUp());
    void this.#answered();
    this.#handle.giveUp?.();
  }

  finish(end: TransactionEnd, error?: unknown): void {
    const { answers } = this.parts;
    this.#failure = error;
    if (error !== undefined) this.tellNotStored(error);
    if (end === "lost") {
      this.tellFenceRejected("complete");
      void answers.fromRecord(this.ask, true).then((response) => this.#settled.resolve({ kind: "replace", response }));
    } else {
      this.#settled.resolve(end === "undone" ? this.#refused(answers.unavailable()) : sendAsIs);
    }
    this.stop(transactionOverError());
    this.finished();
    this.isKept = end === "committed";
    this.tellExecuted(this.#status, this.ask.startedMs);
  }
}
