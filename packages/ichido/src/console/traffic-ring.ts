/** How requests were answered, minute by minute, for the last day of this process. */
import type { IchidoEvent, RequestOutcome } from "../core/contract/events.ts";
import type { TrafficMinute } from "./contract.ts";

export const minuteMs = 60_000;
const minutesMax = 1_440;

type Kind = Exclude<keyof TrafficMinute, "at">;

/** `bypassed` is neither: nothing of it was protected. */
export const kindOf: Readonly<Record<RequestOutcome, Kind | undefined>> = {
  executed: "executed",
  replayed: "replayed",
  replayed_after_wait: "replayed",
  in_progress: "refused",
  key_reused: "refused",
  key_missing: "refused",
  key_invalid: "refused",
  refused: "refused",
  outcome_unknown: "unknown",
  response_not_stored: "failed",
  store_error: "failed",
  bypassed: undefined,
};

type Counts = Record<Kind, number>;

const none = (): Counts => ({ executed: 0, replayed: 0, refused: 0, unknown: 0, failed: 0 });

/** Counts by minute; those between without requests are zero. */
export class Minutes {
  readonly #counts = new Map<number, Counts>();

  /** `isOpen`: a run that left its outcome open, which is no new effect that anybody may count on. */
  add(atMs: number, outcome: RequestOutcome, isOpen = false): void {
    const kind = isOpen ? "unknown" : kindOf[outcome];
    if (kind === undefined) return;
    const minute = Math.floor(atMs / minuteMs);
    let counts = this.#counts.get(minute);
    if (counts === undefined) {
      counts = none();
      this.#counts.set(minute, counts);
      for (const first of this.#counts.keys()) {
        if (first > minute - minutesMax) break;
        this.#counts.delete(first);
      }
    }
    counts[kind] += 1;
  }

  between(fromMs: number, untilMs: number): readonly TrafficMinute[] {
    const last = Math.floor(untilMs / minuteMs);
    const first = Math.max(Math.floor(fromMs / minuteMs), last - minutesMax + 1);
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => ({
      at: new Date((first + index) * minuteMs).toISOString(),
      ...(this.#counts.get(first + index) ?? none()),
    }));
  }
}

export interface TrafficRing {
  readonly sinceMs: number;
  minutes(): readonly TrafficMinute[];
  hear(event: IchidoEvent): void;
}

export function createTrafficRing(now: () => number = Date.now): TrafficRing {
  const sinceMs = now();
  const minutes = new Minutes();
  return {
    sinceMs,
    minutes: () => minutes.between(sinceMs, now()),
    hear(event) {
      if (event.type === "request") minutes.add(now(), event.outcome, event.leftOpen);
    },
  };
}
