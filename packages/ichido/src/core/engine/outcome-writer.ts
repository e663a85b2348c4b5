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

export class OutcomeWriter {
  readonly #parts: Pick<EngineParts, "lateWrites" | "emit">;
  readonly #attempt: LeaseAttempt;
  readonly #onEnd: () => void;
  #late: LateWrite | undefined;
  #stopped = false;

  /** `onEnd`: what was written late is there, or given up. */
  constructor(parts: EngineParts, attempt: LeaseAttempt, onEnd: () => void) {
    this.#parts = parts;
    this.#attempt = attempt;
    this.#onEnd = onEnd;
  }

  /** An outcome that the store does not have yet. */
  get late(): LateWrite | undefined {
    return this.#late;
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
    const writeFenced = async (): Promise<Fenced> => this.fenced(verb, await write());
    try {
      return await writeFenced();
    } catch (error) {
      this.#attempt.tellNotStored(error);
      this.#writeLater(writeFenced, body);
      return "failed";
    }
  }

  /**
   * An answer without its body is worth more than none: it says that the operation was done, or is open. So the body goes
   * where the store can never take it (too large for it), and where there is no room to wait with it.
   */
  writeAnswer(
    verb: string,
    response: StoredResponse,
    write: (kept: StoredResponse) => Promise<Fenced>,
  ): Promise<Fenced | "failed"> {
    let kept = response;
    const dropBody = (code: string, why: string): void => {
      kept = tombstoneOf(response);
      this.#warn(code, `${why}; the answer is kept without its body`);
    };
    async function writeKept(): Promise<Fenced> {
      try {
        return await write(kept);
      } catch (error) {
        if (!isUnstorable(error) || kept.kind === "tombstone") throw error;
        dropBody("answer-too-large", "the store cannot take an answer of this size");
        return write(kept);
      }
    }
    return this.write(verb, writeKept, {
      bytes: response.body.length,
      dropBody: () => dropBody("late-body-dropped", "too many bytes wait for the store"),
    });
  }

  #writeLater(write: () => Promise<Fenced>, body?: Body): void {
    if (this.#stopped) return;
    this.#late = this.#parts.lateWrites.add({
      id: localIdOf(this.#attempt.ask.identity),
      startedMs: this.#attempt.startedMs,
      bytes: 0,
      ...body,
      write,
      onEnd: () => {
        this.#late = undefined;
        this.#onEnd();
      },
    });
    if (this.#late === undefined) {
      this.#warn("late-writes-full", "too many outcomes wait for the store; this one is left to onUnknown");
    }
  }

  #warn(code: string, why: string): void {
    this.#parts.emit({ type: "warning", code, message: `${this.#attempt.ask.identity.operation}: ${why}` });
  }
}
