/**
 * The attempt log: notes of who asked and what they got gather here and are written in batches, beside the requests. A
 * request only leaves one small object; it never waits for the log, and never fails by it.
 */
import { limits } from "../contract/defaults.ts";
import type { Environment, Timer } from "../contract/environment.ts";
import type { IchidoListener, RequestOutcome } from "../contract/events.ts";
import type { AttemptNote, SuspectedDuplicate } from "../contract/history.ts";
import { keyHashOf } from "../request/scope.ts";
import type { Ask, Grant } from "./ruling.ts";
import type { StoreCalls } from "./store-calls.ts";

export interface AttemptLogSettings {
  readonly processName: string | undefined;
  readonly release: string | undefined;
  readonly flushMs: number;
  readonly queueMax: number;
  readonly suspectWithinMs: number;
}

type Asked = Pick<Ask<never>, "identity" | "startedMs" | "askedBy"> & {
  readonly route: Pick<Ask<never>["route"], "enforce" | "retentionMs">;
};

export interface AttemptLog {
  /** `grant`: the handler ran. */
  add(ask: Asked, outcome: RequestOutcome, status: number | undefined, grant?: Grant): void;
  /** Writes what has gathered. Never rejects: what the store did not take waits for the next time. */
  flush(): Promise<void>;
  /** Writes the last ones, once. */
  stop(): Promise<void>;
}

/** A note that waits: times are moments of this process until it is sent. */
type Waiting = Omit<AttemptNote, "agoMs"> & { readonly askedMs: number };

const nameDigitBytes = 3;

export function createAttemptLog(parts: {
  readonly calls: Pick<StoreCalls, "log">;
  readonly environment: Environment;
  readonly emit: IchidoListener;
  readonly settings: AttemptLogSettings;
}): AttemptLog {
  const { calls, environment, emit, settings } = parts;
  let queue: Waiting[] = [];
  let dropped = 0;
  let count = 0;
  let process = settings.processName;
  let timer: Timer | undefined;
  let flushing: Promise<void> | undefined;
  let isOver = false;

  /** Made with the first batch: an engine may be made where nothing random can be had yet. */
  function name(): string {
    process ??= `${environment.processName?.() ?? "process"}:${hex(environment.randomBytes(nameDigitBytes))}`;
    return process;
  }

  function arm(): void {
    if (isOver) return;
    timer ??= environment.after(settings.flushMs, () => {
      timer = undefined;
      void flush();
    });
  }

  function told(pairs: readonly SuspectedDuplicate[]): void {
    for (const { first, second, apartMs } of pairs) {
      const { operation } = second;
      const hashes = { keyHash: keyHashOf(second), firstKeyHash: keyHashOf(first) };
      emit({ type: "suspected-duplicate", operation, ...hashes, apartMs });
    }
  }

  async function write(batch: readonly Waiting[]): Promise<boolean> {
    const nowMs = environment.monotonicMs();
    const notes = batch.map(({ askedMs, ...note }) => ({ ...note, agoMs: Math.max(0, nowMs - askedMs) }));
    const { release, suspectWithinMs } = settings;
    try {
      told(await calls.log({ process: name(), ...(release !== undefined && { release }), notes, suspectWithinMs }));
      return true;
    } catch {
      // The failing call itself was reported.
      return false;
    }
  }

  async function writeAll(): Promise<void> {
    // What comes meanwhile is left to the next time: a store that is slower than the requests must not be asked for ever.
    for (let left = queue.length; left > 0; left -= limits.attemptBatchMax) {
      const batch = queue.slice(0, limits.attemptBatchMax);
      const isWritten = await write(batch);
      if (isWritten) queue = queue.slice(batch.length);
      const lost = dropped;
      dropped = 0;
      emit({ type: "attempts-logged", written: isWritten ? batch.length : 0, dropped: lost, queued: queue.length });
      if (!isWritten) return;
    }
  }

  function flush(): Promise<void> {
    flushing ??= writeAll().finally(() => {
      flushing = undefined;
      if (queue.length > 0) arm();
    });
    return flushing;
  }

  return {
    add({ identity, startedMs, askedBy, route }, outcome, status, grant) {
      if (queue.length >= settings.queueMax) {
        dropped += 1;
        return;
      }
      count += 1;
      const waiting: { -readonly [Name in keyof Waiting]: Waiting[Name] } = {
        identity,
        number: count,
        outcome,
        askedMs: startedMs,
        tookMs: environment.monotonicMs() - startedMs,
        keepMs: route.retentionMs,
      };
      if (status !== undefined) waiting.status = status;
      if (!route.enforce) waiting.observed = true;
      if (askedBy !== undefined) waiting.askedBy = askedBy;
      if (grant !== undefined) {
        waiting.attempt = grant.attempt;
        waiting.fence = grant.fence;
        if (grant.origin === "new") waiting.canonical = grant.canonical;
      }
      queue.push(waiting);
      if (queue.length === 1) arm();
      else if (queue.length === limits.attemptBatchMax && flushing === undefined) void flush();
    },
    flush,
    async stop() {
      isOver = true;
      timer?.cancel();
      await flushing;
      if (queue.length > 0) await flush();
      if (queue.length > 0) emit({ type: "attempts-logged", written: 0, dropped: queue.length, queued: 0 });
      queue = [];
    },
  };
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
