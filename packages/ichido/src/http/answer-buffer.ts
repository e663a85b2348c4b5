/** The bytes of an answer that is being held, and those that wait for a stream to open. */
import type { Outlet } from "./send.ts";
import type { Callback } from "./write-arguments.ts";

interface Waiting {
  readonly bytes: Uint8Array;
  readonly callback: Callback | undefined;
}

export class AnswerBuffer {
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  /** A writer was told to wait for `drain`. */
  owesDrain = false;

  get bytes(): number {
    return this.#heldBytes + this.#waitingBytes;
  }

  hold(bytes: Uint8Array): void {
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
  }

  /** Below the high water mark, as Node does for an answer that has no connection yet. */
  wait(bytes: Uint8Array, callback: Callback | undefined, highWaterMark: number): boolean {
    this.#waiting.push({ bytes, callback });
    this.#waitingBytes += bytes.length;
    const wantsMore = this.#waitingBytes < highWaterMark;
    if (!wantsMore) this.owesDrain = true;
    return wantsMore;
  }

  /** The whole of a held answer; the buffer is empty afterwards. */
  take(): Uint8Array {
    const [first, ...rest] = this.#held;
    this.#held = [];
    if (first === undefined) return new Uint8Array(0);
    return rest.length === 0 ? first : Buffer.concat([first, ...rest]);
  }

  /** Writes everything out in order; false when the outlet asks to wait for its `drain`. */
  pour(outlet: Outlet): boolean {
    let wantsMore = true;
    // Callbacks of held bytes were called when they were taken.
    for (const bytes of this.#held.splice(0)) wantsMore = outlet.write(bytes);
    for (const { bytes, callback } of this.#waiting.splice(0)) wantsMore = outlet.write(bytes, callback);
    return wantsMore;
  }

  drop(): void {
    this.#held = [];
    this.#waiting = [];
  }
}
