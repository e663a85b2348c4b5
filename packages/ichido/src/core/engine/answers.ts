/** What callers learn of a key: the answer that its record has, or why there is none. */
import { catalogue } from "../contract/errors.ts";
import type { IchidoListener } from "../contract/events.ts";
import type { NeutralResponse } from "../contract/message.ts";
import type { StoredResponse } from "../contract/record.ts";
import { isSameRequest } from "../record-machine/claim.ts";
import { isFinalStatus, replayOf } from "./recorder.ts";
import type { Refusals } from "./refusals.ts";
import type { Ask, Refusal } from "./ruling.ts";
import { codeOf, failureDetail, StoreFailure, type StoreCalls } from "./store-calls.ts";

type Asked = Pick<Ask<never>, "identity" | "route">;

export interface Answers {
  /** The form that a ruling takes over HTTP. */
  toRuling(ask: Asked, ruling: Refusal): NeutralResponse;
  /**
   * The fence was lost: what the record says now is the answer, not what the late attempt made. `isUndone`: nothing was left
   * of that attempt.
   */
  fromRecord(ask: Asked & Pick<Ask<never>, "fingerprint">, isUndone?: boolean): Promise<NeutralResponse>;
  /** The outcome of a step is open. */
  whileOpen(ask: Asked, holdReason: string | undefined): NeutralResponse;
  /** Nothing ran, or nothing is left of it: what may help is to ask again, unless the error tells otherwise. */
  unavailable(error?: unknown): NeutralResponse;
  /** To the caller of an attempt whose transaction still runs and will be undone. */
  leftRunning(): NeutralResponse;
}

/** Room is made by expiry, so that asking every second is of no use. */
const quotaRetrySeconds = 60;

export function createAnswers(parts: {
  readonly calls: Pick<StoreCalls, "find">;
  readonly refusals: Refusals;
  readonly emit: IchidoListener;
}): Answers {
  const { calls, refusals, emit } = parts;
  /** Refusals that no call of the store has reported, each once. */
  const told = new Set<string>();

  function replay({ route }: Asked, stored: StoredResponse): NeutralResponse {
    if (!isFinalStatus(stored.status)) return refusals.unsendable(stored);
    return stored.kind === "tombstone" ? refusals.notStored(stored) : replayOf(stored, route.profile);
  }

  function unavailable(error?: unknown): NeutralResponse {
    const code = codeOf(error);
    if (code !== "store-unavailable" && !(error instanceof StoreFailure) && !told.has(code)) {
      told.add(code);
      emit({ type: "warning", code, message: error instanceof Error ? error.message : String(error), error });
    }
    const detail = failureDetail(error);
    return refusals.refuse(code, { detail, ...(catalogue[code].retryable ? { retryAfter: 1 } : {}) });
  }

  return {
    toRuling(ask, ruling) {
      const { route, identity } = ask;
      switch (ruling.kind) {
        case "replay":
          return replay(ask, ruling.stored);
        case "mismatch":
          return refusals.reused(route);
        case "in-flight":
          return refusals.inFlight(route, identity, ruling.leaseLeftMs);
        case "unknown":
          return refusals.unknown(route, identity, ruling);
        case "not-visible-yet":
          return refusals.notVisibleYet(route, identity);
        case "full":
          return refusals.refuse("store-unavailable", {
            detail: "The store is full and takes no new keys.",
            retryAfter: 1,
          });
        case "quota":
          return refusals.refuse("quota-exceeded", {
            detail: "You have as many keys in use as you may. Room is made as they expire; those that you used go on.",
            retryAfter: quotaRetrySeconds,
          });
      }
    },
    async fromRecord(ask, isUndone = false) {
      const { identity, route } = ask;
      try {
        const record = await calls.find(identity);
        // Forgotten meanwhile, and the key used anew for something else.
        if (record !== undefined && !isSameRequest(record.fingerprint, ask.fingerprint)) return refusals.reused(route);
        if (record?.state === "completed" && record.response !== undefined) return replay(ask, record.response);
        if ((record?.leaseLeftMs ?? 0) > 0) return refusals.inFlight(route, identity, record?.leaseLeftMs ?? 0);
        // Nothing was left of the late attempt, nor of the one that stood in its way: the next one may run.
        if (isUndone && (record === undefined || record.state === "failed")) return unavailable();
        // Lost without a takeover: the next request runs or asks, unless only a person may end it.
        const isFinal = route.onUnknown === "hold" || record?.holdReason !== undefined || record?.interim !== undefined;
        return isFinal ? refusals.unknown(route, identity, record ?? {}) : refusals.inFlight(route, identity, 0);
      } catch (error) {
        return unavailable(error);
      }
    },
    whileOpen({ route, identity }, holdReason) {
      if (holdReason === undefined) return refusals.notVisibleYet(route, identity);
      return refusals.unknown(route, identity, { holdReason });
    },
    unavailable,
    leftRunning: () => refusals.leftRunning(),
  };
}
