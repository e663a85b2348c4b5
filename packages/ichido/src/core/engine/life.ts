/** The first use of an engine. Until then nothing is drawn, timed, connected or looked at, so that it can be made anywhere. */
import type { IchidoListener } from "../contract/events.ts";
import type { EngineNotes } from "./engine-notes.ts";
import type { Housekeeping } from "./housekeeping.ts";
import { requireRuntime } from "../contract/runtime.ts";
import type { StoreCalls } from "./store-calls.ts";

export interface Life {
  /** Before every claim; does something once. Throws where this runtime cannot run ichido. */
  begin(): void;
  /** Rejects with what would make claims fail. May be called again after that was mended. */
  start(): Promise<void>;
  /** Said at first use, not when an engine is only made. */
  warn(code: string, message: string): void;
}

export function createLife(parts: {
  readonly calls: Pick<StoreCalls, "ping">;
  readonly housekeeping: Pick<Housekeeping, "begin">;
  readonly notes: Pick<EngineNotes, "begin">;
  readonly emit: IchidoListener;
}): Life {
  const { calls, housekeeping, notes, emit } = parts;
  let begun = false;
  const unsaid: { readonly code: string; readonly message: string }[] = [];

  function begin(): Promise<void> {
    requireRuntime();
    begun = true;
    for (const warning of unsaid.splice(0)) emit({ type: "warning", ...warning });
    notes.begin();
    return housekeeping.begin();
  }

  return {
    begin() {
      // That the store takes no tick is reported by the failing call itself.
      if (!begun) begin().catch(() => undefined);
    },
    async start() {
      requireRuntime();
      await calls.ping();
      await begin();
    },
    warn(code, message) {
      if (begun) emit({ type: "warning", code, message });
      else unsaid.push({ code, message });
    },
  };
}
