import { hash } from "node:crypto";

/** 32 bytes. Text is hashed as UTF-8; it must be well-formed, or different texts would become the same bytes. */
export function sha256(data: string | Uint8Array): Uint8Array {
  return hash("sha256", data, "buffer");
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
