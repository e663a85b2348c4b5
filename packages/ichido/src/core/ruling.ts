/** What is asked of the engine, and how it rules: before it takes the form of an HTTP answer or of a value. */
import type { LiveExecution } from "./execution.ts";
import type { Labels, ResolvedRoute } from "./options.ts";
import type { Fingerprint, Identity, StoredResponse } from "./record.ts";

/** What is claimed, whoever asks: a request or a function call. */
export interface Ask<Native> {
  readonly identity: Identity;
  readonly fingerprint: Fingerprint;
  readonly route: ResolvedRoute<Native>;
  readonly labels: Labels | undefined;
  readonly startedMs: number;
}

/** The outcome of an ask, before it takes the form of an HTTP answer or of a value. */
export type Ruling =
  | { readonly kind: "execute"; readonly execution: LiveExecution }
  | { readonly kind: "replay"; readonly stored: StoredResponse; readonly waited: boolean }
  | { readonly kind: "mismatch" }
  | { readonly kind: "in-flight"; readonly leaseLeftMs: number }
  | { readonly kind: "unknown"; readonly interim?: StoredResponse; readonly holdReason?: string }
  | { readonly kind: "not-visible-yet" }
  | { readonly kind: "full" }
  | { readonly kind: "quota" };
