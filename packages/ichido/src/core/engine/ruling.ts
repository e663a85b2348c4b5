/** What is asked of the engine, and how it rules: before it takes the form of an HTTP answer or of a value. */
import type { Attempt } from "./attempt.ts";
import type { Labels, ResolvedRoute } from "../contract/options.ts";
import type { Fingerprint, Identity, OwnerToken, StoredResponse } from "../contract/record.ts";
import { isTraceparent, traceLine, type Span } from "../contract/tracing.ts";
import type { ClaimRequest, ClaimResult } from "../contract/store.ts";

/** What is claimed, by a request or by a function call. */
export interface Ask<Native> {
  readonly identity: Identity;
  readonly fingerprint: Fingerprint;
  readonly route: ResolvedRoute<Native>;
  readonly labels: Labels | undefined;
  readonly startedMs: number;
  /** For the attempt log alone. */
  readonly askedBy?: string | undefined;
  readonly span?: Span | undefined;
}

/** The outcome of an ask. */
export type Ruling =
  | { readonly kind: "execute"; readonly execution: Attempt }
  /** `expiresInMs`: as the store has just answered. */
  | {
      readonly kind: "replay";
      readonly stored: StoredResponse;
      readonly waited: boolean;
      readonly expiresInMs?: number;
    }
  | { readonly kind: "mismatch" }
  | { readonly kind: "in-flight"; readonly leaseLeftMs: number }
  | { readonly kind: "unknown"; readonly interim?: StoredResponse; readonly holdReason?: string }
  | { readonly kind: "not-visible-yet" }
  | { readonly kind: "full" }
  | { readonly kind: "quota" };

/** The handler does not run. */
export type Refusal = Exclude<Ruling, { kind: "execute" }>;

export type Grant = Extract<ClaimResult, { outcome: "granted" }>;

export function claimRequestOf(ask: Ask<never>, owner: OwnerToken, waitMs?: number): ClaimRequest {
  const { route, labels } = ask;
  const request: { -readonly [Name in keyof ClaimRequest]: ClaimRequest[Name] } = {
    identity: ask.identity,
    owner,
    fingerprint: ask.fingerprint,
    leaseMs: route.leaseMs,
    retentionMs: route.retentionMs,
    takeover: route.onUnknown === "hold" ? "none" : "lapsed",
    doubtStays: route.onUnknown !== "rerun",
  };
  if (labels !== undefined) request.labels = labels;
  if (waitMs !== undefined) request.waitMs = waitMs;
  return request;
}

export function rulingOf(result: Exclude<ClaimResult, Grant>): Refusal {
  switch (result.outcome) {
    case "completed":
      return { kind: "replay", stored: result.response, waited: false, expiresInMs: result.expiresInMs };
    case "processing":
      return { kind: "in-flight", leaseLeftMs: result.leaseLeftMs };
    case "unknown":
      return { ...result, kind: "unknown" };
    case "mismatch":
    case "full":
    case "quota":
      return { kind: result.outcome };
  }
}

/** The span of a replay names the one that made the answer. */
export function linkToFirst(span: Span | undefined, stored: StoredResponse): void {
  if (span === undefined) return;
  const first = stored.headers.find(([name]) => name === traceLine)?.[1];
  if (isTraceparent(first)) span.link(first);
}
