/** One attempt that owns its key: from the grant to the moment its outcome is written down or handed over. */
import { answerOf } from "./answer.ts";
import { Attempt, sendAsIs, type Granted, type Provided } from "./attempt.ts";
import { createCommit, type Commit } from "./commit.ts";
import type { StepFunction } from "../contract/context.ts";
import type { HandlerOutcome, Settled } from "../contract/decision.ts";
import { isInDoubt } from "../record-machine/claim.ts";
import { answerGoodForMs } from "../record-machine/seen.ts";
import type { EngineParts } from "./engine-parts.ts";
import { isTrusted, type LiveClaim, type LossReason } from "./heartbeat.ts";
import { IchidoError } from "../contract/errors.ts";
import type { AnswerHead } from "../contract/message.ts";
import type { AnswerLike, StepOptions } from "../contract/options.ts";
import { OutcomeWriter } from "./outcome-writer.ts";
import type { StoredResponse } from "../contract/record.ts";
import { recordedOf, tombstoneOf, verdictOn } from "./recorder.ts";
import { keyHashOf } from "../request/scope.ts";
import { createSteps, FenceLost, OutcomeOpen, type Steps } from "./steps.ts";
import type { Fenced } from "../contract/store.ts";
import type { TransactionHandle } from "../contract/transaction.ts";

/** Lines added where the answer is true but could not be written down. */
const notStored: Settled = { kind: "send", addHeaders: [["idempotency-stored", "false"]] };

const empty = new Uint8Array(0);

export class LeaseAttempt extends Attempt {
  readonly #live: LiveClaim;
  readonly #writer: OutcomeWriter;
  readonly startedMs: number;
  #answered = false;
  #ended = false;
  /** Others may have the key as soon as the store hears of it: nothing more may be begun in its name. */
  #isGivenAway = false;
  #settling: Promise<Settled> | undefined;
  /** What a branch says of an outcome that stays open, on its way. */
  #leaving: Promise<unknown> | undefined;
  // Both are made when a handler asks for them.
  #steps: Steps | undefined;
  #commit: Commit | undefined;

  /** `claimedMs`: when the claim was sent. Its lease may have begun then. */
  constructor(parts: EngineParts, granted: Granted, claimedMs: number) {
    super(parts, granted);
    const { claim, ask } = granted;
    const startedMs = parts.settings.environment.monotonicMs();
    this.startedMs = startedMs;
    this.#writer = new OutcomeWriter(parts, this);
    const { identity, owner, fence } = claim;
    this.#live = {
      renewal: { identity, owner, fence, leaseMs: ask.route.leaseMs },
      confirmedMs: claimedMs,
      startedMs,
      lost: false,
      lose: (reason) => this.#lose(reason),
      holder: this,
      dueMs: claimedMs,
      renewing: false,
      isLive: false,
    };
    parts.heartbeat.add(this.#live);
  }

  get isSettled(): boolean {
    return this.#settling !== undefined;
  }

  /** Its answer lies on a transaction that has not ended. */
  get holdsRecord(): boolean {
    return this.#commit?.holdsRecord === true;
  }

  /** Its last word to the store, which may be on its way. */
  get sent(): Promise<Fenced> | undefined {
    return this.#writer.sent;
  }

  #lose(reason: LossReason): void {
    const { identity } = this.ask;
    const linked = this.parts.settings.link.linked(identity);
    const keyHash = keyHashOf(identity);
    this.parts.emit({ type: "lease-lost", operation: identity.operation, keyHash, reason, ...linked });
    this.stop(new FenceLost(`the lease of this attempt was lost (${reason})`));
    if (reason !== "execution-limit") return;
    this.#end(undefined);
    this.#letGo();
  }

  /** What was written late is there, or given up. */
  lateWriteEnded(): void {
    if (this.#answered) this.#letGo();
  }

  /** From here on this process has no more to do with the record. */
  #letGo(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.parts.heartbeat.remove(this.#live);
    this.#writer.stop();
    this.#lookForCopy();
    this.finished();
  }

  /**
   * A copy of the claim that is still on its way would take a key that was given back, or whose retention is over, or bring
   * the lease of one that was left open to life again, and nobody would know. It goes back in doubt: not before the last
   * word of the attempt, which may be on its way.
   */
  #lookForCopy(): void {
    const { claim, grant, parts } = this;
    if (grant.unheard !== true) return;
    void this.#writer.heard().then(() => {
      // A word that was given up may still arrive: its lease must not be ended before that, only by itself.
      if (!this.#writer.isUnheard) parts.calls.giveBackLater(claim, this.started ? claim.fence : undefined);
    });
  }

  /** The caller has its answer. Until the store has the outcome too, the lease is kept. */
  #end(status: number | undefined): void {
    if (this.#writer.late === undefined) this.#letGo();
    if (this.#answered) return;
    this.#answered = true;
    this.tellExecuted(status, this.startedMs);
  }

  /** The context made the answer. */
  provide(made: Provided): void {
    this.answer ??= made;
    const { response, kind } = this.answer;
    if (kind === "own") this.isKept = true;
    this.send(response);
    this.#end(response.status);
  }

  async #provideLost(): Promise<void> {
    const response = await this.parts.answers.fromRecord(this.ask);
    // Answered meanwhile: that is its last word, and still needs its lease and its writer.
    if (this.#settling === undefined) this.provide({ kind: "lost", response });
  }

  async #keep(response: StoredResponse): Promise<Settled> {
    const { answers, replays } = this.parts;
    const { ask, grant } = this;
    let result: Fenced | "failed";
    try {
      result = this.#writer.fenced("complete", await this.#writer.begin(this.#store(response)));
    } catch (error) {
      result = await this.#writer.goOnWithAnswer("complete", response, (kept) => this.#store(kept), error);
    }
    this.isKept = result === "ok";
    const goodForMs = this.isKept ? answerGoodForMs(grant) : undefined;
    if (goodForMs !== undefined) replays?.put(ask, response, goodForMs);
    // In observe mode a caller gets what its own handler answered, whatever became of the record.
    if (!ask.route.enforce || result === "ok") return sendAsIs;
    return result === "failed" ? notStored : { kind: "replace", response: await answers.fromRecord(ask) };
  }

  #store(response: StoredResponse): Promise<Fenced> {
    const { identity, owner, fence } = this.claim;
    return this.traced("idempotency.complete", {}, () =>
      this.parts.calls.complete({ identity, owner, fence, response, ...this.news }),
    );
  }

  async #release(): Promise<Settled> {
    this.#isGivenAway = true;
    await this.#writer.write("release", () => this.parts.calls.release(this.claim));
    return sendAsIs;
  }

  async #suspend(holdReason: string | undefined): Promise<Settled> {
    this.isLeftOpen = true;
    this.#isGivenAway = true;
    const request = { ...this.claim, ...(holdReason === undefined ? {} : { holdReason }), ...this.news };
    await this.#writer.write("suspend", () => this.parts.calls.suspend(request));
    return sendAsIs;
  }

  /**
   * Nothing is known of what the handler did. Finished steps and a transaction that was rolled back tell of themselves
   * alone: a call made outside them may have happened, so only `rerun` gives the key back, or `ctx.release()`.
   */
  #leaveOpen(holdReason: string): Promise<Settled> {
    const { onUnknown } = this.ask.route;
    if (onUnknown === "rerun" && this.#steps?.unfinished !== true) return this.#release();
    return this.#suspend(onUnknown === "hold" ? holdReason : undefined);
  }

  #conclude(outcome: HandlerOutcome): Promise<Settled> {
    const isPlain = this.#commit === undefined && this.#leaving === undefined;
    return isPlain ? this.#concludeNow(outcome) : this.#concludeAfter(this.#commit, outcome);
  }

  async #concludeAfter(commit: Commit | undefined, outcome: HandlerOutcome): Promise<Settled> {
    await this.#leaving;
    await commit?.underWay;
    if (commit?.pending === true) {
      const made = await commit.resolve();
      if (made !== undefined) this.provide(made);
    }
    return this.#concludeNow(outcome);
  }

  #concludeNow(outcome: HandlerOutcome): Promise<Settled> {
    if (this.answer !== undefined) return Promise.resolve({ kind: "replace", response: this.answer.response });
    if (this.isReleased) return this.#release();
    if (outcome.kind !== "answered") {
      return this.#leaveOpen(outcome.kind === "threw" ? "the handler threw" : "the connection broke under the answer");
    }
    const { response } = outcome;
    const verdict = verdictOn(response, this.ask.route.keep);
    if (verdict === "release") return this.#release();
    if (verdict === "open") return this.#leaveOpen(`the handler answered ${response.status}`);
    return this.#keep(this.keptOf(response));
  }

  /** The first end of an attempt is its only one. */
  #settleOnce(status: number | undefined, work: HandlerOutcome | (() => Promise<Settled>)): Promise<Settled> {
    this.#settling ??= this.#settleSafely(status, work);
    return this.#settling;
  }

  async #settleSafely(status: number | undefined, work: HandlerOutcome | (() => Promise<Settled>)): Promise<Settled> {
    try {
      const { faults } = this.parts.settings;
      if (faults !== undefined) await faults("after-handler");
      return await (typeof work === "function" ? work() : this.#conclude(work));
    } catch (error) {
      this.tellNotStored(error);
      return this.ask.route.enforce ? notStored : sendAsIs;
    } finally {
      this.#end(status);
    }
  }

  settle(outcome: HandlerOutcome): Promise<Settled> {
    const rendered = this.rendering?.take(outcome);
    if (rendered !== undefined) return rendered;
    const status = outcome.kind === "answered" ? outcome.response.status : undefined;
    return this.#settleOnce(status, outcome);
  }

  beginStream(head: AnswerHead): Promise<Settled> {
    return this.#settleOnce(head.status, async () => {
      await this.#leaving;
      await this.#commit?.underWay;
      const keeps = !this.isReleased && verdictOn(head, this.ask.route.keep) === "keep";
      if (keeps && this.answer === undefined && this.#commit?.pending !== true) {
        return this.#keep(this.signed(tombstoneOf(head)));
      }
      return this.#conclude({ kind: "answered", response: { ...head, body: empty } });
    });
  }

  /**
   * False once the lease can no longer be counted on: nothing may be started. `notedMs`: a step was noted by a call sent
   * then, which leaves at least half of the lease (see `startStep`).
   */
  isTrusted(notedMs?: number): boolean {
    const live = this.#live;
    if (notedMs !== undefined) live.confirmedMs = Math.max(live.confirmedMs, notedMs - live.renewal.leaseMs / 2);
    // Given back, left open, or another's: the record is up to others, whatever this handler still does.
    const isOver = this.#isGivenAway || (this.answer !== undefined && this.answer.kind !== "own");
    return this.stoppedBy === undefined && !isOver && isTrusted(live, this.parts.settings.environment.monotonicMs());
  }

  /**
   * An attempt that must stop answers from the record, whatever the framework makes of the error. One that has ended has had
   * its last word: what still runs of its handler, a branch that nobody awaited, takes nothing back.
   */
  async #stoppable<Value>(work: () => Promise<Value>): Promise<Value> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof FenceLost) this.tellFenceRejected("step");
      if (this.#settling !== undefined) throw error;
      // Before another may have the key: a handler may go on after a step that told it to stop.
      if (error instanceof FenceLost || error instanceof OutcomeOpen) this.stop(error);
      if (error instanceof FenceLost) {
        await this.#provideLost();
      } else if (error instanceof OutcomeOpen) {
        await this.#leave(async () => {
          await this.#suspend(error.holdReason);
          this.provide({ kind: "open", response: await this.parts.answers.whileOpen(this.ask, error.holdReason) });
        });
      }
      throw error;
    }
  }

  /** The lease is being ended, by which no answer is kept any longer: one that comes meanwhile waits for it, and is none. */
  async #leave(work: () => Promise<void>): Promise<void> {
    const leaving = work();
    this.#leaving = Promise.allSettled([this.#leaving, leaving]);
    await leaving;
  }

  step<Value>(name: string, options: StepOptions<Value>, fn: StepFunction<Value>): Promise<Value> {
    return this.#stoppable(() => {
      this.#steps ??= createSteps(this.parts, this);
      return this.#steps.step(name, options, fn);
    });
  }

  async transaction(given: readonly unknown[]): Promise<AnswerLike> {
    try {
      return await this.#stoppable(() => this.#theCommit().transaction(given));
    } catch (error) {
      if (this.answer === undefined) this.rendering?.end(() => this.#undo());
      throw error;
    }
  }

  /** The framework has answered already, and nothing of that answer is true. */
  #undo(): Promise<Settled> {
    return this.#settleOnce(undefined, async () => {
      await this.#leaveOpen("the transaction was not committed");
      return { kind: "replace", response: await this.parts.answers.fromRecord(this.ask, true) };
    });
  }

  complete(handle: TransactionHandle, answer: AnswerLike): Promise<void> {
    return this.#stoppable(() => this.#theCommit().complete(handle, answer));
  }

  #theCommit(): Commit {
    this.#commit ??= createCommit(this.parts, this);
    return this.#commit;
  }

  async leaveUnknown(made: AnswerLike): Promise<void> {
    if (this.#settling !== undefined) {
      throw new IchidoError("usage-invalid", "ctx.unknown was called after the handler had given its answer; await it");
    }
    const response = answerOf(made);
    this.#isGivenAway = true;
    await this.#leave(async () => {
      const result = await this.#writer.writeAnswer("suspend", recordedOf(response), (interim) =>
        this.parts.calls.suspend({ ...this.claim, interim, ...this.news }),
      );
      if (result === "stale") await this.#provideLost();
      else this.provide({ kind: "open", response });
    });
  }

  /** Stores an answer that was found rather than made. */
  async adopt(response: StoredResponse): Promise<Fenced> {
    try {
      const completing = this.parts.calls.complete({ ...this.claim, response });
      return this.#writer.fenced("complete", await this.#writer.begin(completing));
    } finally {
      this.#end(response.status);
    }
  }

  /** The key is given away: the handler must start nothing more in its name. */
  #stopHandler(): void {
    this.stop(new FenceLost("this attempt was handed over"));
  }

  /** An outcome that is known goes before handing over what is not. What cannot be written is left with its lease. */
  async #lastCall(mayEndLease: boolean): Promise<void> {
    const { late } = this.#writer;
    if (late !== undefined) await late.now();
    else if (mayEndLease) await this.parts.calls.suspend({ ...this.claim, ...this.news });
  }

  /** Ends the lease, leaving the record to `onUnknown`. */
  async handOver(): Promise<void> {
    this.#stopHandler();
    // An answer on its way must not be overtaken by the end of the lease, nor one that may still arrive.
    const isHeard = await this.#writer.heard();
    await this.#lastCall(isHeard || !this.started).catch(() => {
      if (!this.started) this.parts.calls.giveBackLater(this.claim);
    });
    this.#end(undefined);
    this.#letGo();
  }

  /** Nothing ran: that must not end as a doubt, which under `hold` would wait for a person. */
  async giveBack(): Promise<void> {
    this.#stopHandler();
    const { calls } = this.parts;
    const { claim, grant } = this;
    await (isInDoubt(grant) ? calls.suspend(claim) : calls.release(claim)).catch(() => calls.giveBackLater(claim));
    this.#end(undefined);
  }
}
