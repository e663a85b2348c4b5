/** Writes what this engine is set to and has measured into the store, once a minute, for a `doctor` in another process. */
import { engineNoteBytesMax, engineNoteEveryMs, type EngineNoteText } from "../contract/engine-note.ts";
import type { Timer } from "../contract/environment.ts";
import type { Measurements } from "./measurements.ts";
import type { StoreCalls } from "./store-calls.ts";
import type { ResolvedEngine } from "./validate-options.ts";

/** Routes are mounted and the first requests are through by then. */
const firstMs = 10_000;

export interface EngineNotes {
  /** From the first time on it goes on by itself. */
  begin(): void;
  /** Writes now. Nothing rests on it: a failure was reported by the failing call. */
  write(): Promise<void>;
  stop(): void;
}

export interface EngineNotesParts {
  readonly calls: Pick<StoreCalls, "noteEngine">;
  readonly settings: ResolvedEngine<never>;
  readonly measurements: Measurements;
}

function runtimeName(): string {
  const { process } = globalThis as { readonly process?: Partial<typeof globalThis.process> };
  return process?.versions?.node === undefined ? "" : `Node ${process.versions.node}`;
}

function textOf({ settings, measurements }: EngineNotesParts): string {
  const { storeTimeoutMs, executionMs, sweepMs, scope } = settings;
  const told: EngineNoteText = {
    v: 1,
    process: settings.attemptLog?.processName ?? settings.environment.processName?.() ?? "process",
    runtime: runtimeName(),
    release: settings.attemptLog?.release ?? "",
    options: { storeTimeoutMs, executionMs, sweepMs, sharedKeys: scope === undefined },
    operations: measurements.operations(),
    steps: measurements.steps(),
    labels: measurements.names("labels"),
    resources: measurements.names("resources"),
  };
  const text = JSON.stringify(told);
  // A program with very many routes tells of its options alone.
  return text.length <= engineNoteBytesMax ? text : JSON.stringify({ ...told, operations: {}, steps: {} });
}

export function createEngineNotes(parts: EngineNotesParts): EngineNotes {
  const { calls, settings } = parts;
  const { environment, store } = settings;
  let engine: string | undefined;
  let timer: Timer | undefined;
  let stopped = false;

  async function write(): Promise<void> {
    if (store.noteEngine === undefined || stopped) return;
    engine ??= Buffer.from(environment.randomBytes(16)).toString("hex");
    await calls.noteEngine({ engine, text: textOf(parts) });
  }

  function arm(delayMs: number): void {
    if (stopped) return;
    timer = environment.after(delayMs, () => {
      void write()
        .catch(() => undefined)
        .finally(() => arm(engineNoteEveryMs));
    });
  }

  return {
    begin() {
      if (timer === undefined && store.noteEngine !== undefined) arm(firstMs);
    },
    write,
    stop() {
      stopped = true;
      timer?.cancel();
    },
  };
}
