/** The published policy (`/.well-known/idempotency`): what a client may rely on, machine-readable. */
import { catalogue, defaults, neverKeptHeaders, profiles, releasingStatuses } from "ichido";

export interface PolicySettings {
  readonly leaseMs: number;
  readonly retentionMs: number;
}

const LAYER_CODES = [
  "idempotency-key-required",
  "idempotency-key-invalid",
  "idempotency-key-reused",
  "idempotency-in-flight",
  "outcome-unknown",
  "response-not-stored",
  "store-unavailable",
] as const;

export function idempotencyPolicy({ leaseMs, retentionMs }: PolicySettings): unknown {
  const profile = profiles["adr-007"];
  return {
    header: "Idempotency-Key",
    operations: [
      {
        operation: "payment.create",
        method: "POST",
        path: "/payments",
        required: true,
        profile: profile.name,
        compared: { mode: "json-by-meaning", members: ["bookingId", "amount", "currency"] },
      },
    ],
    key: {
      format: "UUID version 4 (RFC 9562), bare or as a structured-field string (RFC 9651)",
      alphabet: "0-9 a-f A-F -",
      length: { min: 36, max: 36 },
      compared: "in lower case",
    },
    scope: ["tenant", "user", "operation", "key"],
    retention: { duration: isoDuration(retentionMs), anchor: "first request with the key; replays do not extend it" },
    afterRetention: "the key runs as new",
    lease: isoDuration(leaseMs),
    storedStatuses: {
      stored: "2xx, 3xx and 4xx answers of the operation itself",
      notStored: [...releasingStatuses],
      serverErrors: "not stored: the retry first asks the bank what became of the charge",
      replayedAs: { "201": profile.replayCreatedAs, others: "the stored status" },
      headersNeverReplayed: [...neverKeptHeaders],
    },
    marker: { header: "Idempotency-Replayed", value: profile.marker.value },
    errors: LAYER_CODES.map((code) => ({
      type: `${defaults.problemBase}${code}`,
      code,
      status: code === "idempotency-key-reused" ? profile.mismatchStatus : catalogue[code].status,
      retryable: catalogue[code].retryable,
      title: catalogue[code].title,
    })),
  };
}

/** ISO 8601 duration in the largest units that keep it exact: P1D, PT1H30M, PT2.5S. */
export function isoDuration(milliseconds: number): string {
  const days = Math.floor(milliseconds / 86_400_000);
  const hours = Math.floor((milliseconds % 86_400_000) / 3_600_000);
  const minutes = Math.floor((milliseconds % 3_600_000) / 60_000);
  const seconds = (milliseconds % 60_000) / 1000;
  const time = `${hours > 0 ? `${hours}H` : ""}${minutes > 0 ? `${minutes}M` : ""}${seconds > 0 ? `${seconds}S` : ""}`;
  if (days === 0 && time === "") return "PT0S";
  return `P${days > 0 ? `${days}D` : ""}${time === "" ? "" : `T${time}`}`;
}
