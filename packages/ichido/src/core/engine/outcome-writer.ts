/** Writes down what became of an attempt, and goes on trying after its caller was answered, with the heartbeat. */
import type { EngineParts } from "./engine-parts.ts";
import type { LateOutcome, LateWrite } from "./late-writes.ts";
import type { LeaseAttempt } from "./lease-attempt.ts";
import type { StoredResponse } from "../contract/record.ts";
import { tombstoneOf } from "./recorder.ts";
import { localIdOf } from "../request/scope.ts";
import type { Fenced } from "../contract/store.ts";
import { isUnstorable } from "./store-calls.ts";

type Body = Pick<LateOutcome, "bytes" | "dropBody">;

const yes = (): true => true;
const no = (): false => false;

export class OutcomeWriter {
  readonly #parts: Pick<EngineParts, "lateWrites" | "emit">;
  readonly #attempt: LeaseAttempt;
  #late: LateWrite | undefined;
  #sent: Promise<Fenced> | undefined;
  #stopped = false;
  /** A word was given up, and may still arrive. */
  isUnheard = false;

  constructor(parts: EngineParts, attempt: LeaseAttempt) {
    this.#parts = parts;
    this.#attempt = attempt;
  }

  /** An outcome that the store does not have yet. */
  get late(): LateWrite | undefined {
    return this.#late;
  }

  /** The last word to the store, which may be on its way. */
  get sent(): Promise<Fenced> | undefined {
    return this.#sent;
  }

  /** Whoever claims the record in this process waits for it. */
  begin(sent: Promise<Fenced>): Promise<Fenced> {
    this.#sent = sent;
    return sent;
  }

  /** Once nothing of it is on its way: whether the store has heard all of it. */
  async heard(): Promise<boolean> {
    let isHeard = true;
    for (let last: Promise<Fenced> | undefined; this.#sent !== last;) {
      last = this.#sent;
      isHeard = (await last?.then(yes, no)) ?? true;
    }
    return isHeard;
  }

  stop(): void {
    this.#stopped = true;
    this.#late?.stop();
  }

  fenced(verb: string, result: Fenced): Fenced {
    if (result === "stale") this.#attempt.tellFenceRejected(verb);
    return result;
  }

  /** `failed`: not known yet; the write goes on in the background. */
  async write(verb: string, write: () => Promise<Fenced>, body?: Body): Promise<Fenced | "failed"> {
    try {
      return this.fenced(verb, await this.begin(write()));
    } catch (error) {
      return this.#goOn(verb, write, error, body);
    }
  }

  async writeAnswer(
    verb: string,
    response: StoredResponse,
    write: (kept: StoredResponse) => Promise<Fenced>,
  ): Promise<Fenced | "failed"> {
    try {
      return this.fenced(verb, await this.begin(write(response)));
    } catch (error) {
      return this.goOnWithAnswer(verb, response, write, error);
    }
  }

  /**
   * After a first try that failed. An answer without its body is worth more than none: it says that the operation was done, or is open. So the body goes
   * where the store can never take it (too large for it), and where there is no room to wait with it.
   */
  goOnWithAnswer(
    verb: string,
    response: StoredResponse,
    write: (kept: StoredResponse) => Promise<Fenced>,
    error: unknown,
  ): Fenced | "failed" | Promise<Fenced | "failed"> {
    let kept = response;
    const dropBody = (code: string, why: string): void => {
      kept = tombstoneOf(response);
      this.#warn(code, `${why}; the answer is kept without its body`);
    };
    const cannotTake = (failure: unknown): boolean => {
      if (!isUnstorable(failure) || kept.kind === "tombstone") return false;
      dropBody("answer-too-large", "the store cannot take an answer of this size");
      return true;
    };
    async function writeKept(): Promise<Fenced> {
      try {
        return await write(kept);
      } catch (failure) {
        if (!cannotTake(failure)) throw failure;
        return write(kept);
      }
    }
    const body = {
      bytes: response.body.length,
      dropBody: () => dropBody("late-body-dropped", "too many bytes wait for the store"),
    };
    return cannotTake(error) ? this.write(verb, writeKept, body) : this.#goOn(verb, writeKept, error, body);
  }

  #goOn(verb: string, write: () => Promise<Fenced>, error: unknown, body: Body | undefined): Fenced | "failed" {
    this.#attempt.tellNotStored(error);
    this.isUnheard = true;
    const writeAgain = async (): Promise<Fenced> => {
      const result = this.fenced(verb, await write());
      this.isUnheard = false;
      return result;
    };
    return this.#writeLater(verb, writeAgain, body);
  }

  #writeLater(verb: string, write: () => Promise<Fenced>, body?: Body): Fenced | "failed" {
    if (this.#stopped) return "failed";
    const { claim, ask } = this.#attempt;
    const late = this.#parts.lateWrites.add({
      id: localIdOf(ask.identity),
      fence: claim.fence,
      startedMs: this.#attempt.startedMs,
      bytes: 0,
      ...body,
      write,
      onEnd: () => {
        this.#late = undefined;
        this.#attempt.lateWriteEnded();
      },
    });
    if (late === "overtaken") return this.fenced(verb, "stale");
    if (late === "full") {
      this.#warn("late-writes-full", "too many outcomes wait for the store; this one is left to onUnknown");
    } else if (late !== "closed") this.#late = late;
    return "failed";
  }

  #warn(code: string, why: string): void {
    this.#parts.emit({ type: "warning", code, message: `${this.#attempt.ask.identity.operation}: ${why}` });
  }
}
