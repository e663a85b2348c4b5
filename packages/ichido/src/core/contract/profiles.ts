/**
 * How an API answers, as plain data. Each setting can be overridden alone: `{ ...profiles.ietf, mismatchStatus: 409 }`.
 */

export type ProfileName = "ietf" | "stripe" | "adr-007" | "polling";

export interface Profile {
  readonly name: string;
  /** The request header, in lower case. */
  readonly header: string;
  /**
   * `lenient` takes a structured string or the bare text, as one key. `strict` takes the structured string alone
   * (RFC 9651), `bare` the text alone.
   */
  readonly keyForm: "lenient" | "strict" | "bare";
  readonly keyLengthMax: number;
  readonly keyPattern: "any" | "uuid-v4";
  /** `lower`: keys are compared in lower case (UUIDs). */
  readonly keyCase: "exact" | "lower";
  readonly mismatchStatus: number;
  readonly inFlight: "conflict" | "accepted";
  /** What a stored 201 is replayed as; every other status is replayed unchanged. */
  readonly replayCreatedAs: 200 | 201;
  /** The answer while an outcome is open and an interim answer is known. */
  readonly unknownStatus: 202 | 409;
  readonly marker: { readonly name: string; readonly value: string };
  /** False: one key space per principal; the same key on another operation is a mismatch. */
  readonly operationInIdentity: boolean;
  /** Whether a 5xx of the handler is kept like any other answer. */
  readonly keepServerErrors: boolean;
}

const ietf: Profile = {
  name: "ietf",
  header: "idempotency-key",
  keyForm: "lenient",
  keyLengthMax: 255,
  keyPattern: "any",
  keyCase: "exact",
  mismatchStatus: 422,
  inFlight: "conflict",
  replayCreatedAs: 201,
  unknownStatus: 409,
  marker: { name: "idempotency-replayed", value: "true" },
  operationInIdentity: true,
  keepServerErrors: false,
};

export const profiles: Readonly<Record<ProfileName, Profile>> = {
  ietf,
  stripe: {
    ...ietf,
    name: "stripe",
    keyForm: "bare",
    mismatchStatus: 400,
    marker: { name: "idempotent-replayed", value: "true" },
    operationInIdentity: false,
    keepServerErrors: true,
  },
  "adr-007": {
    ...ietf,
    name: "adr-007",
    keyPattern: "uuid-v4",
    keyCase: "lower",
    mismatchStatus: 409,
    replayCreatedAs: 200,
    unknownStatus: 202,
  },
  polling: { ...ietf, name: "polling", mismatchStatus: 409, inFlight: "accepted", unknownStatus: 202 },
};
