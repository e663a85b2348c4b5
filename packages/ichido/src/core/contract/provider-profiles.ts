/**
 * What an external service does with a reference that it has seen before, as plain data; and what a step that was
 * started and never finished must do on account of that. Each setting can be overridden alone by spreading a profile.
 */
import { knownOptions } from "./option-checks.ts";
import { IchidoError } from "./errors.ts";
import type { StepOptions } from "./options.ts";

export interface ProviderProfile {
  /** The header for the reference; undefined: the provider honours none. */
  readonly header: string | undefined;
  /** The shortest time for which the provider remembers a reference. 0: it honours none. */
  readonly remembersMs: number;
  /**
   * What the same reference gets again. `answer`: the first answer, also a failure. `state`: the present state of what
   * was made. `nothing`: a second effect.
   */
  readonly remembers: "answer" | "state" | "nothing";
  /** How long after the call a query may still miss the effect: before that, the answer "absent" is not believed. */
  readonly visibleAfterMs: number;
}

const hourMs = 3_600_000;

/** The shortest times that the providers document; `docs/guide/providers.md` says what to check. */
export const providerProfiles = {
  stripe: { header: "Idempotency-Key", remembersMs: 24 * hourMs, remembers: "answer", visibleAfterMs: 60_000 },
  adyen: { header: "Idempotency-Key", remembersMs: 7 * 24 * hourMs, remembers: "answer", visibleAfterMs: 60_000 },
  paypal: { header: "PayPal-Request-Id", remembersMs: 6 * hourMs, remembers: "state", visibleAfterMs: 60_000 },
  keyless: { header: undefined, remembersMs: 0, remembers: "nothing", visibleAfterMs: 300_000 },
} as const satisfies Readonly<Record<string, ProviderProfile>>;

/** Clocks differ, and the call began before it was noted: the last tenth of a provider's memory is not relied on. */
const reliedOn = 0.9;

/**
 * Options for `ctx.step`. With `verify` the provider is asked, and its "absent" is believed once the effect would be
 * visible. Without `verify`, a provider that honours references is called again with the same reference while it
 * certainly remembers it. For a provider that does not, the record goes on hold: a second call could take effect twice,
 * and without one there may be no effect at all.
 */
export function stepOptionsFor<Value>(
  profile: ProviderProfile,
  verify?: NonNullable<StepOptions<Value>["verify"]>,
): StepOptions<Value> {
  knownOptions("provider profile", profile, { header: true, remembersMs: true, remembers: true, visibleAfterMs: true });
  const honours = profile.remembers !== "nothing";
  if (honours !== profile.remembersMs > 0 || profile.visibleAfterMs < 0) {
    throw new IchidoError(
      "option-invalid",
      `provider profile: remembers ${JSON.stringify(profile.remembers)} does not go with remembersMs ${profile.remembersMs}`,
    );
  }
  if (verify !== undefined) {
    return {
      async verify(request) {
        const verdict = await verify(request);
        // Counted from the last start, since the call of that start may still be on its way.
        const tooEarly = verdict.verdict === "absent" && request.ageMs < profile.visibleAfterMs;
        return tooEarly ? { verdict: "not-visible-yet" } : verdict;
      },
    };
  }
  if (!honours) return { onUnknown: "hold" };
  return { onUnknown: "rerun", retentionMs: Math.floor(profile.remembersMs * reliedOn) };
}
