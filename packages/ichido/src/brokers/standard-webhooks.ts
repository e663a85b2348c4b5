/**
 * Signatures of Standard Webhooks: `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`, the body as the very bytes
 * that travel. A header may carry several, parted by spaces, and a receiver may know several secrets: so either side can
 * change its secret without a gap. An id has no full stop (the specification forbids it): `a.1.b` would be signed alike for the id `a`
 * and for the id `a.1`.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { IchidoError } from "../core/contract/errors.ts";

export interface WebhookSignature {
  readonly "webhook-id": string;
  /** Seconds since the epoch. */
  readonly "webhook-timestamp": string;
  readonly "webhook-signature": string;
}

export type WebhookVerdict =
  | { readonly valid: true }
  /** For logs: never tell a caller more than that it was refused. */
  | {
      readonly valid: false;
      readonly reason: "header-missing" | "id-invalid" | "timestamp-invalid" | "too-old" | "too-new" | "no-match";
    };

export const toleranceMsDefault = 300_000;
/** Any client that can reach a receiver may send headers: each signature in them costs a comparison per secret. */
const signaturesMax = 16;
const secretBytesMin = 24;
const secretBytesMax = 64;
const version = "v1,";

/** `whsec_` and base64 of 24 to 64 bytes. Throws `option-invalid`; the secret itself is not in the message. */
export function readSecret(secret: unknown, option = "secret"): Uint8Array {
  const [, text = ""] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(typeof secret === "string" ? secret : "") ?? [];
  const bytes = Buffer.from(text, "base64");
  if (bytes.length < secretBytesMin || bytes.length > secretBytesMax) {
    throw new IchidoError(
      "option-invalid",
      `${option}: expected "whsec_" and the base64 of ${secretBytesMin} to ${secretBytesMax} random bytes, ` +
        `such as \`whsec_$(openssl rand -base64 32)\``,
    );
  }
  return bytes;
}

export const isSignableId = (id: string): boolean => !id.includes(".");

function digest(key: Uint8Array, id: string, timestamp: string, body: Uint8Array): Buffer {
  return createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest();
}

/** The three headers of one delivery; sign anew for each attempt, since the timestamp is that of the attempt. */
export function sign(
  secrets: Uint8Array | readonly Uint8Array[],
  { id, body, nowMs }: { readonly id: string; readonly body: Uint8Array; readonly nowMs: number },
): WebhookSignature {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const keys = secrets instanceof Uint8Array ? [secrets] : secrets;
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": keys.map((key) => version + digest(key, id, timestamp, body).toString("base64")).join(" "),
  };
}

export interface VerifyOptions {
  readonly nowMs: number;
  readonly toleranceMs?: number;
}

/** Each signature with each secret, whatever matched before, in constant time. */
export function verify(
  secrets: readonly Uint8Array[],
  headers: { readonly [Name in keyof WebhookSignature]?: string | undefined },
  body: Uint8Array,
  { nowMs, toleranceMs = toleranceMsDefault }: VerifyOptions,
): WebhookVerdict {
  const id = headers["webhook-id"];
  const timestamp = headers["webhook-timestamp"];
  const signatures = headers["webhook-signature"];
  if (!id || !timestamp || !signatures) return { valid: false, reason: "header-missing" };
  if (!isSignableId(id)) return { valid: false, reason: "id-invalid" };
  if (!/^\d{1,12}$/.test(timestamp)) return { valid: false, reason: "timestamp-invalid" };
  const ageMs = nowMs - Number(timestamp) * 1_000;
  if (ageMs > toleranceMs) return { valid: false, reason: "too-old" };
  if (ageMs < -toleranceMs) return { valid: false, reason: "too-new" };
  const given = signatures
    .split(" ", signaturesMax)
    .filter((text) => text.startsWith(version))
    .map((text) => Buffer.from(text.slice(version.length), "base64"));
  let valid = false;
  for (const key of secrets) {
    const expected = digest(key, id, timestamp, body);
    for (const one of given) {
      if (one.length === expected.length && timingSafeEqual(one, expected)) valid = true;
    }
  }
  return valid ? { valid } : { valid: false, reason: "no-match" };
}
