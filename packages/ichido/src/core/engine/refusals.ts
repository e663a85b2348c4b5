/** The layer's own answers. None of them is ever stored. */
import type { IchidoErrorCode } from "../contract/errors.ts";
import type { NeutralResponse } from "../contract/message.ts";
import type { ResolvedRoute } from "../contract/options.ts";
import { problemOf, problemResponse, type ProblemDetails, type ProblemFormat } from "../contract/problem.ts";
import type { Identity, StoredResponse } from "../contract/record.ts";
import { headerOf, interimOf, isFinalStatus } from "./recorder.ts";
import { isForgotten } from "../record-machine/forget.ts";
import { isOnHold } from "../record-machine/seen.ts";
import type { OperationIds } from "../request/operation-id.ts";
import type { ClaimResult } from "../contract/store.ts";

type Route = Pick<ResolvedRoute<never>, "profile" | "statusUrl" | "leaseMs" | "inFlight">;
type Unknown = Extract<ClaimResult, { outcome: "unknown" }>;

/** What the operation under this key made, where the record tells. */
export type Made = Pick<ProblemDetails, "resources">;

export type Refusals = ReturnType<typeof createRefusals>;

/** Long enough not to hammer, short enough for a person who waits. */
const retryAfterSeconds = 1;

/**
 * An owner that lives renews its lease after a third of it, and may be done at any moment. One that has let half of it pass
 * is most likely dead, and nothing can be had before the rest is over.
 */
function secondsLeft({ leaseMs }: Route, leaseLeftMs: number): number {
  if (leaseLeftMs * 2 >= leaseMs) return retryAfterSeconds;
  return Math.max(retryAfterSeconds, Math.ceil(leaseLeftMs / 1_000));
}

const encoder = new TextEncoder();

export function createRefusals(format: ProblemFormat, operationIds: Pick<OperationIds, "of">) {
  const refuse = (code: IchidoErrorCode, details: ProblemDetails): NeutralResponse =>
    problemResponse(problemOf(code, details, format.problemBase), format);

  /** A row that was edited by hand must not take the process down, nor hang its caller. */
  function unsendable({ status }: StoredResponse): NeutralResponse {
    const detail = `The stored answer (status ${String(status).slice(0, 20)}) cannot be sent over HTTP.`;
    return refuse("value-not-serialisable", { detail });
  }

  /** Tells where to ask instead of refusing. */
  function accepted(
    route: Route,
    identity: Identity,
    state: "processing" | "unknown",
    retryAfter = retryAfterSeconds,
  ): NeutralResponse {
    const operationId = operationIds.of(identity);
    const location = route.statusUrl?.(operationId);
    return {
      status: 202,
      headers: [
        ["content-type", "application/json"],
        ["cache-control", "no-store"],
        ["retry-after", String(retryAfter)],
        ...(location === undefined ? [] : ([["location", location]] as const)),
      ],
      body: encoder.encode(JSON.stringify({ operationId, state })),
    };
  }

  return {
    refuse,
    unsendable,
    reused: (route: Route, made: Made): NeutralResponse =>
      refuse("idempotency-key-reused", {
        status: route.profile.mismatchStatus,
        detail: "Send the original content again to get its answer, or use a new key for new content.",
        ...made,
      }),
    inFlight(route: Route, identity: Identity, leaseLeftMs: number, made: Made): NeutralResponse {
      const retryAfter = secondsLeft(route, leaseLeftMs);
      if (route.inFlight === "accepted") return accepted(route, identity, "processing", retryAfter);
      return refuse("idempotency-in-flight", {
        detail: "Wait and send the same request again: it will get the answer of the one that is running.",
        retryAfter,
        ...made,
      });
    },
    /** To the caller of an attempt whose transaction still runs and will be undone. */
    leftRunning: (): NeutralResponse =>
      refuse("idempotency-in-flight", {
        status: 503,
        detail:
          "It was answered, or its time was up, while its transaction still ran: nothing of it is kept. Send the same request again.",
        retryAfter: retryAfterSeconds,
      }),
    unknown(
      route: Route,
      identity: Identity,
      result: Pick<Unknown, "interim" | "holdReason">,
      made: Made,
    ): NeutralResponse {
      // Of one that lost its body there is nothing to show.
      if (result.interim?.kind === "full" && route.profile.unknownStatus === 202) {
        return isFinalStatus(result.interim.status) ? interimOf(result.interim) : unsendable(result.interim);
      }
      if (route.inFlight === "accepted") return accepted(route, identity, "unknown");
      return refuse("outcome-unknown", {
        detail: isOnHold(result)
          ? "An earlier attempt is on hold until a person settles its outcome. It is not run again meanwhile."
          : "An earlier attempt ended without telling its outcome. It is not run again until that is settled.",
        ...made,
      });
    },
    notVisibleYet(route: Route, identity: Identity, made: Made): NeutralResponse {
      if (route.inFlight === "accepted") return accepted(route, identity, "unknown");
      return refuse("outcome-unknown", {
        detail: "An earlier attempt may have taken effect; that cannot be told yet. Ask again with the same request.",
        retryable: true,
        retryAfter: retryAfterSeconds,
        ...made,
      });
    },
    notStored(stored: StoredResponse, made: Made): NeutralResponse {
      const location = headerOf(stored.headers, "location");
      return refuse("response-not-stored", {
        detail: isForgotten(stored)
          ? "The operation is done and not run again. Its answer was erased at someone's request."
          : "The operation took effect and is not run again. Its answer was streamed or too large to be kept.",
        originalStatus: stored.status,
        ...(location === undefined ? {} : { location }),
        ...made,
      });
    },
  };
}
