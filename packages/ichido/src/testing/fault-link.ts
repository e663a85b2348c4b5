/** One direction of a proxied connection: bytes in, bytes out, and what a bad network does in between. */
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

export interface Link {
  readonly bytes: number;
  /** Bytes were lost: what follows would make no sense to the receiver. */
  readonly spoilt: boolean;
  /** The faults changed: whoever waits looks again. */
  changed(): void;
  stop(): void;
}

/** Beyond this the sender is no longer read from, so that it feels the slow line as TCP back pressure. */
const queueBytesMax = 1_048_576;
const sliceMs = 20;

export function createLink(parts: {
  readonly from: Socket;
  readonly to: Socket;
  readonly faults: () => LinkFaults;
  readonly inspect: (chunk: Buffer) => Inspection;
}): Link {
  const { from, to, faults, inspect } = parts;
  const queue: { readonly chunk: Buffer; readonly dueMs: number; readonly afterwards?: () => void }[] = [];
  let queuedBytes = 0;
  let passedBytes = 0;
  let spoilt = false;
  let ended = false;
  let stopped = false;
  let wake: (() => void) | undefined;

  const nap = (ms?: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = ms === undefined ? undefined : setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  async function write(chunk: Buffer): Promise<void> {
    if (to.destroyed || chunk.length === 0) return;
    passedBytes += chunk.length;
    if (to.write(chunk)) return;
    await new Promise<void>((resolve) => {
      to.once("drain", resolve);
      to.once("close", resolve);
    });
  }

  async function writeAtRate(chunk: Buffer): Promise<void> {
    for (let sent = 0; sent < chunk.length && !stopped;) {
      const { bytesPerSecond } = faults();
      if (bytesPerSecond === undefined) return write(chunk.subarray(sent));
      const slice = Math.max(1, Math.floor((bytesPerSecond * sliceMs) / 1000));
      await write(chunk.subarray(sent, sent + slice));
      sent += slice;
      await nap((Math.min(slice, chunk.length) * 1000) / bytesPerSecond);
    }
  }

  async function pump(): Promise<void> {
    while (!stopped) {
      const next = queue[0];
      const { stall, blackhole } = faults();
      if (blackhole === true) spoilt = true;
      if (next === undefined) {
        if (ended && !spoilt) to.end();
        if (ended) return;
        await nap();
      } else if (spoilt) {
        queue.shift();
        release(next.chunk.length);
      } else if (stall === true) {
        await nap();
      } else if (next.dueMs > performance.now()) {
        await nap(next.dueMs - performance.now());
      } else {
        await writeAtRate(next.chunk);
        queue.shift();
        release(next.chunk.length);
        next.afterwards?.();
      }
    }
  }

  function release(bytes: number): void {
    queuedBytes -= bytes;
    if (queuedBytes <= queueBytesMax && from.isPaused()) from.resume();
  }

  from.on("data", (chunk: Buffer) => {
    if (stopped) return;
    const { forward, afterwards } = inspect(chunk);
    const dueMs = performance.now() + (faults().delayMs ?? 0);
    queue.push({ chunk: forward, dueMs, ...(afterwards === undefined ? {} : { afterwards }) });
    queuedBytes += forward.length;
    if (queuedBytes > queueBytesMax) from.pause();
    wake?.();
  });
  from.on("end", () => {
    ended = true;
    wake?.();
  });
  void pump();

  return {
    get bytes() {
      return passedBytes;
    },
    get spoilt() {
      return spoilt;
    },
    changed: () => wake?.(),
    stop() {
      stopped = true;
      queue.length = 0;
      wake?.();
    },
  };
}
