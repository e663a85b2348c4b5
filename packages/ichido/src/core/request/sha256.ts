/** Hashes texts, and checks what a text needs so that different texts get different hashes. */
import { hash } from "node:crypto";

const hashBytes = 32;
const slabBytes = hashBytes * 64;

/** Hashes share one block of memory: an allocation per hash would cost more than the hash itself. */
let slab = Buffer.allocUnsafeSlow(slabBytes);
let used = 0;

/** 32 bytes. Text is hashed as UTF-8; it must be well-formed, or different texts would become the same bytes. */
export function sha256(data: string | Uint8Array): Uint8Array {
  if (used === slabBytes) {
    slab = Buffer.allocUnsafeSlow(slabBytes);
    used = 0;
  }
  const from = used;
  used += slab.write(hash("sha256", data, "binary"), from, "latin1");
  return slab.subarray(from, used);
}

export function sha256Hex(data: string | Uint8Array): string {
  return hash("sha256", data, "hex");
}

/** ES2024, which the type library of this package does not reach yet. */
type WellFormed = string & { isWellFormed(): boolean };

/** Half of a surrogate pair: a text with one has no UTF-8 form of its own. */
export function hasLoneSurrogate(text: string): boolean {
  return !(text as WellFormed).isWellFormed();
}

/**
 * Several texts as one, such that different lists never give the same result: `["a:b", "c"]` and `["a", "b:c"]` stay
 * apart, and so do an absent part and an empty one. Joining with a delimiter cannot promise that.
 */
export function lengthPrefixed(parts: readonly (string | undefined)[]): string {
  let text = "";
  for (const part of parts) text += part === undefined ? "-" : `${part.length}:${part}`;
  return text;
}
