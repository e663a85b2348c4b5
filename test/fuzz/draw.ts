/** What several targets draw: texts of pieces, names that objects have already, bytes in chunks. */
import type { Random } from "./target.ts";

/** Names that an object without care finds in its prototype, or sets there. */
export const inheritedNames = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "valueOf",
  "hasOwnProperty",
  "__defineGetter__",
  "then",
  "toJSON",
  "length",
] as const;

export const lettersOf = (text: string): readonly string[] => text.split("");

export function textOf(random: Random, pieces: readonly string[], most: number): string {
  let text = "";
  for (let left = random.int(0, most); left > 0; left -= 1) text += random.pick(pieces);
  return text;
}

export function listOf<Value>(random: Random, most: number, draw: () => Value): Value[] {
  return Array.from({ length: random.int(0, most) }, draw);
}

/** Mostly short, now and then long. */
export function lengthOf(random: Random, most: number): number {
  return random.chance(0.9) ? random.int(0, Math.min(most, 24)) : random.int(0, most);
}

/** The same bytes in chunks: bytewise, at random places, or whole; empty chunks among them. */
export function chunksOf(random: Random, bytes: Uint8Array): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  const most = random.pick([...(bytes.length > 40_000 ? [] : [1, 2, 3]), 16, 61, 1_024, Math.max(1, bytes.length)]);
  for (let at = 0; at < bytes.length;) {
    const length = random.chance(0.05) ? 0 : random.int(1, most);
    chunks.push(bytes.subarray(at, at + length));
    at += length;
  }
  return chunks;
}

export function flipBit(random: Random, bytes: Uint8Array): Uint8Array {
  const flipped = Uint8Array.from(bytes);
  const at = random.int(0, flipped.length - 1);
  flipped[at] = (flipped[at] ?? 0) ^ (1 << random.int(0, 7));
  return flipped;
}

export function shuffled<Value>(random: Random, values: readonly Value[]): Value[] {
  const mixed = [...values];
  for (let at = mixed.length - 1; at > 0; at -= 1) {
    const other = random.int(0, at);
    [mixed[at], mixed[other]] = [mixed[other] as Value, mixed[at] as Value];
  }
  return mixed;
}
