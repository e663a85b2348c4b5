/** What callers learn of a key: the answer that its record has, or why there is none. */
import { catalogue } from "../contract/errors.ts";
import type { IchidoListener } from "../contract/events.ts";
import type { NeutralResponse } from "../contract/message.ts";
import type { Identity, StoredResponse } from "../contract/record.ts";
import { isSameRequest } from "../record-machine/claim.ts";
import { claimFinds } from "../record-machine/seen.ts";
import { localIdOf } from "../request/scope.ts";
import { isFinalStatus, replayOf } from "./recorder.ts";
import type { Made, Refusals } from "./refusals.ts";
import type { Ask, Refusal } from "./ruling.ts";
import { codeOf, failureDetail, StoreFailure, type StoreCalls } from "./store-calls.ts";

type Asked = Pick<Ask<never>, "identity" | "route">;
type Doubt = Extract<Refusal, { kind: "unknown" }>;

export interface Answers {
  /** The form that a ruling takes over HTTP. */
  toRuling(ask: Asked, ruling: Refusal): NeutralResponse | Promise<NeutralResponse>;
  /**
   * The fence was lost: what the record says now is the answer, not what the late attempt made. `isUndone`: nothing was left
   * of that attempt.
   */
  fromRecord(ask: Asked & Pick<Ask<never>, "fingerprint">, isUndone?: boolean): Promise<NeutralResponse>;
  /** The outcome of a step is open. */
  whileOpen(ask: Asked, holdReason: string | undefined): Promise<NeutralResponse>;
  /** Nothing ran, or nothing is left of it: what may help is to ask again, unless the error tells otherwise. */
  unavailable(error?: unknown): NeutralResponse;
  /** To the caller of an attempt whose transaction still runs and will be undone. */
  leftRunning(): NeutralResponse;
}

/** Room is made by expiry, so that asking every second is of no use. */
const quotaRetrySeconds = 60;

export function createAnswers(parts: {
  readonly calls: Pick<StoreCalls, "find" | "resources">;
  readonly refusals: Refusals;
  readonly emit: IchidoListener;
}): Answers {
  const { calls, refusals, emit } = parts;
  /** Refusals that no call of the store has reported, each once. */
  const told = new Set<string>();
  /** What was made, asked once for all who are refused at the same moment: a crowd of duplicates takes one connection. */
  const asked = new Map<string, Promise<Made>>();

  /**
   * What the operation made, for a caller who gets no answer that would tell. Where all callers share their keys, one who
   * sent other content is a stranger. It is worth a question, but not a failure.
   */
  async function made({ identity }: Asked, isStranger = false): Promise<Made> {
    if (isStranger && identity.tenant === undefined && identity.principal === undefined) return {};
    const id = localIdOf(identity);
    const question = asked.get(id) ?? askMade(identity).finally(() => asked.delete(id));
    asked.set(id, question);
    return question;
  }

  async function askMade(identity: Identity): Promise<Made> {
    try {
      const resources = await calls.resources(identity);
      return resources.length === 0 ? {} : { resources };
    } catch {
      return {};
    }
  }

  function replay(ask: Asked, stored: StoredResponse): NeutralResponse | Promise<NeutralResponse> {
    if (!isFinalStatus(stored.status)) return refusals.unsendable(stored);
    if (stored.kind === "full") return replayOf(stored, ask.route.profile);
    return made(ask).then((told) => refusals.notStored(stored, told));
  }

  async function inFlight(ask: Asked, leaseLeftMs: number): Promise<NeutralResponse> {
    return refusals.inFlight(ask.route, ask.identity, leaseLeftMs, await made(ask));
  }

  async function unknown(ask: Asked, doubt: Pick<Doubt, "interim" | "holdReason">): Promise<NeutralResponse> {
    return refusals.unknown(ask.route, ask.identity, doubt, await made(ask));
  }

  async function notVisibleYet(ask: Asked): Promise<NeutralResponse> {
    return refusals.notVisibleYet(ask.route, ask.identity, await made(ask));
  }

  async function reused(ask: Asked): Promise<NeutralResponse> {
    return refusals.reused(ask.route, await made(ask, true));
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
      switch (ruling.kind) {
        case "replay":
          return replay(ask, ruling.stored);
        case "mismatch":
          return reused(ask);
        case "in-flight":
          return inFlight(ask, ruling.leaseLeftMs);
        case "unknown":
          return unknown(ask, ruling);
        case "not-visible-yet":
          return notVisibleYet(ask);
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
        if (record !== undefined && !isSameRequest(record.fingerprint, ask.fingerprint)) return await reused(ask);
        const found = claimFinds(record);
        if (found === "answer" && record?.response !== undefined) return await replay(ask, record.response);
        if (found === "owner") return await inFlight(ask, record?.leaseLeftMs ?? 0);
        // Nothing was left of the late attempt, nor of the one that stood in its way: the next one may run.
        if (isUndone && found === "free") return unavailable();
        // Lost without a takeover: the next request runs or asks, unless only a person may end it.
        const isFinal = route.onUnknown === "hold" || found === "sealed";
        return await (isFinal ? unknown(ask, record ?? {}) : inFlight(ask, 0));
      } catch (error) {
        return unavailable(error);
      }
    },
    whileOpen: (ask, holdReason) => (holdReason === undefined ? notVisibleYet(ask) : unknown(ask, { holdReason })),
    unavailable,
    leftRunning: () => refusals.leftRunning(),
  };
}
