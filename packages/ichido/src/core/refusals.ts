/** The layer's own answers. None of them is ever stored. */
import type { IchidoErrorCode } from "./errors.ts";
import type { NeutralResponse } from "./message.ts";
import type { ResolvedRoute } from "./options.ts";
import { problemOf, problemResponse, type ProblemDetails, type ProblemFormat } from "./problem.ts";
import type { Identity, StoredResponse } from "./record.ts";
import { headerOf } from "./recorder.ts";
import { operationIdOf } from "./scope.ts";
import type { ClaimResult } from "./store.ts";

type Route = Pick<ResolvedRoute<never>, "profile" | "statusUrl" | "leaseMs" | "inFlight">;
type Unknown = Extract<ClaimResult, { outcome: "unknown" }>;

export interface Refusals {
  refuse(code: IchidoErrorCode, details: ProblemDetails): NeutralResponse;
  reused(route: Route): NeutralResponse;
  inFlight(route: Route, identity: Identity, leaseLeftMs: number): NeutralResponse;
  unknown(route: Route, identity: Identity, result: Pick<Unknown, "interim" | "holdReason">): NeutralResponse;
  notVisibleYet(route: Route, identity: Identity): NeutralResponse;
  notStored(stored: StoredResponse): NeutralResponse;
}

/** Long enough not to hammer, short enough for a person who waits. */
const retryAfterSeconds = 1;

const encoder = new TextEncoder();

export function createRefusals(format: ProblemFormat): Refusals {
  const refuse = (code: IchidoErrorCode, details: ProblemDetails): NeutralResponse =>
    problemResponse(problemOf(code, details, format.problemBase), format);

  /** Tells where to ask instead of refusing. */
  function accepted(route: Route, identity: Identity, state: "processing" | "unknown"): NeutralResponse {
    const operationId = operationIdOf(identity);
    const location = route.statusUrl?.(operationId);
    return {
      status: 202,
      headers: [
        ["content-type", "application/json"],
        ["cache-control", "no-store"],
        ["retry-after", String(retryAfterSeconds)],
        ...(location === undefined ? [] : ([["location", location]] as const)),
      ],
      body: encoder.encode(JSON.stringify({ operationId, state })),
    };
  }

  return {
    refuse,
    reused: (route) =>
      refuse("idempotency-key-reused", {
        status: route.profile.mismatchStatus,
        detail: "Send the original content again to get its answer, or use a new key for new content.",
      }),
    inFlight(route, identity, leaseLeftMs) {
      if (route.inFlight === "accepted") return accepted(route, identity, "processing");
      const leftSeconds = Math.max(1, Math.floor(leaseLeftMs / 1000));
      return refuse("idempotency-in-flight", {
        detail: "Wait and send the same request again: it will get the answer of the one that is running.",
        retryAfter: Math.min(retryAfterSeconds, leftSeconds),
      });
    },
    unknown(route, identity, result) {
      if (result.interim !== undefined && route.profile.unknownStatus === 202) {
        return { status: result.interim.status, headers: result.interim.headers, body: result.interim.body };
      }
      if (route.inFlight === "accepted") return accepted(route, identity, "unknown");
      return refuse("outcome-unknown", {
        detail:
          result.holdReason === undefined
            ? "An earlier attempt ended without telling its outcome. It is not run again until that is settled."
            : "An earlier attempt is on hold until a person settles its outcome. It is not run again meanwhile.",
      });
    },
    notVisibleYet(route, identity) {
      if (route.inFlight === "accepted") return accepted(route, identity, "unknown");
      return refuse("outcome-unknown", {
        detail: "An earlier attempt may have taken effect; that cannot be told yet. Ask again with the same request.",
        retryable: true,
        retryAfter: retryAfterSeconds,
      });
    },
    notStored(stored) {
      const location = headerOf(stored.headers, "location");
      return refuse("response-not-stored", {
        detail: "The operation took effect and is not run again. Its answer was streamed or too large to be kept.",
        originalStatus: stored.status,
        ...(location === undefined ? {} : { location }),
      });
    },
  };
}
