import { IchidoError } from "../contract/errors.ts";
import { lengthPrefixed } from "./length-prefix.ts";
import type { Identity } from "../contract/record.ts";
import { hasLoneSurrogate, sha256 } from "./sha256.ts";

export const referenceNameLengthMax = 200;
/** 240 bits: 40 characters of base64url without padding, which every provider's key field takes. */
const referenceBytes = 30;

/**
 * The key to send to an external service, so that it too takes effect once. It follows from the identity, the canonical
 * hash stored at first sight and the name alone: every attempt sends the same one, also after the store forgot the
 * record, and no attempt with other content ever sends it.
 */
export function referenceOf(identity: Identity, canonical: Uint8Array, name: string): string {
  if (name === "" || name.length > referenceNameLengthMax || hasLoneSurrogate(name)) {
    throw new IchidoError(
      "usage-invalid",
      `The name of a reference must be well-formed text of 1 to ${referenceNameLengthMax} characters; ` +
        `this one has ${name.length}. Use the name of the step, such as "bank.charge".`,
    );
  }
  const parts = ["ichido-reference-1", hex(identity.scopeHash), identity.key, hex(canonical), name];
  return Buffer.from(sha256(lengthPrefixed(parts)).subarray(0, referenceBytes)).toString("base64url");
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
}
