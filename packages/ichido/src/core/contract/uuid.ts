/** Identifiers from randomness alone, in any runtime that has Web Crypto. */

const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

function formatted(bytes: Uint8Array, version: number): string {
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | (version << 4);
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return hex(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

const platform = { randomBytes: (length: number): Uint8Array => crypto.getRandomValues(new Uint8Array(length)) };

/** Not `crypto.randomUUID`: that exists in secure contexts only. */
export function uuidV4(): string {
  return formatted(platform.randomBytes(16), 4);
}

/** Sorts by the time at which it was made, which makes database indexes faster. */
export function uuidV7(nowMs: number, chance = platform): string {
  const bytes = chance.randomBytes(16);
  let rest = nowMs;
  for (let at = 5; at >= 0; at -= 1) {
    bytes[at] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  return formatted(bytes, 7);
}
