/** One direction of a proxied connection: passes bytes on, and does to them what a bad network does. */
import type { Socket } from "node:net";

/** What is wrong with one direction. Everything absent: a good line. */
export interface LinkFaults {
  /** Latency: every byte arrives this much later; the throughput stays. */
  readonly delayMs?: number;
  readonly bytesPerSecond?: number;
  /** A partition that may heal: bytes are kept and go on when the fault is lifted. */
  readonly stall?: boolean;
  /** Bytes vanish; the connection stays open and is of no use any more, not even after the fault is lifted. */
  readonly blackhole?: boolean;
}

/** What to do with a chunk: pass `forward`, then call `afterwards`. */
export interface Inspection {
  readonly forward: Buffer;
  readonly afterwards?: () => void;
}

/** Beyond this the link stops reading from the sender, so that the sender gets TCP back pressure from the slow line. */
const queueBytesMax = 1_048_576;
const sliceMs = 20;

interface Queued extends Inspection {
  readonly dueMs: number;
  isDisturbed: boolean;
}

export interface LinkParts {
  readonly from: Socket;
  readonly to: Socket;
  readonly faults: () => LinkFaults;
  readonly inspect: (chunk: Buffer) => Inspection;
}

export class Link {
  readonly #parts: LinkParts;
  readonly #queue: Queued[] = [];
  #queuedBytes = 0;
  #passedBytes = 0;
  #disturbedBytes = 0;
  #spoilt = false;
  #ended = false;
  #stopped = false;
  #wake: (() => void) | undefined;

  constructor(parts: LinkParts) {
    this.#parts = parts;
    parts.from.on("data", (chunk: Buffer) => this.#take(chunk));
    parts.from.on("end", () => {
      this.#ended = true;
      this.changed();
    });
    void this.#pump();
  }

  get bytes(): number {
    return this.#passedBytes;
  }

  /** Bytes that were delayed, kept back or lost. */
  get disturbedBytes(): number {
    return this.#disturbedBytes;
  }

  /** Bytes were lost: what follows would make no sense to the receiver. */
  get spoilt(): boolean {
    return this.#spoilt;
  }

  /** The faults changed: a waiting pump checks them again. */
  changed(): void {
    this.#wake?.();
  }

  stop(): void {
    this.#stopped = true;
    this.#queue.length = 0;
    this.changed();
  }

  #take(chunk: Buffer): void {
    if (this.#stopped) return;
    const { from, faults, inspect } = this.#parts;
    const inspected = inspect(chunk);
    const { delayMs = 0 } = faults();
    const queued = { ...inspected, dueMs: performance.now() + delayMs, isDisturbed: false };
    this.#queue.push(queued);
    if (delayMs > 0) this.#disturb(queued);
    this.#queuedBytes += inspected.forward.length;
    if (this.#queuedBytes > queueBytesMax) from.pause();
    this.changed();
  }

  #disturb(queued: Queued): void {
    if (queued.isDisturbed) return;
    queued.isDisturbed = true;
    this.#disturbedBytes += queued.forward.length;
  }

  #drop({ forward }: Queued): void {
    const { from } = this.#parts;
    this.#queue.shift();
    this.#queuedBytes -= forward.length;
    if (this.#queuedBytes <= queueBytesMax && from.isPaused()) from.resume();
  }

  #nap(ms?: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = ms === undefined ? undefined : setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async #write(chunk: Buffer): Promise<void> {
    const { to } = this.#parts;
    if (to.destroyed || chunk.length === 0) return;
    this.#passedBytes += chunk.length;
    if (to.write(chunk)) return;
    await new Promise<void>((resolve) => {
      to.once("drain", resolve);
      to.once("close", resolve);
    });
  }

  async #writeAtRate(chunk: Buffer): Promise<void> {
    for (let sent = 0; sent < chunk.length && !this.#stopped;) {
      const { bytesPerSecond } = this.#parts.faults();
      if (bytesPerSecond === undefined) return this.#write(chunk.subarray(sent));
      const slice = Math.max(1, Math.floor((bytesPerSecond * sliceMs) / 1000));
      await this.#write(chunk.subarray(sent, sent + slice));
      sent += slice;
      await this.#nap((Math.min(slice, chunk.length) * 1000) / bytesPerSecond);
    }
  }

  async #pump(): Promise<void> {
    while (!this.#stopped) {
      const [next] = this.#queue;
      const { stall, blackhole } = this.#parts.faults();
      if (blackhole === true) this.#spoilt = true;
      if (next === undefined) {
        if (this.#ended && !this.#spoilt) this.#parts.to.end();
        if (this.#ended) return;
        await this.#nap();
      } else if (this.#spoilt) {
        this.#disturb(next);
        this.#drop(next);
      } else if (stall === true) {
        this.#disturb(next);
        await this.#nap();
      } else if (next.dueMs > performance.now()) {
        await this.#nap(next.dueMs - performance.now());
      } else {
        await this.#writeAtRate(next.forward);
        this.#drop(next);
        next.afterwards?.();
      }
    }
  }
}
