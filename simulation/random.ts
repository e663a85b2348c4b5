/** All chance of a history comes from one seed: sfc32, written out, and a mixing function for what must not depend on order. */

export interface Random {
  /** In [0, 1). */
  next(): number;
  /** A whole number from `least` to `most`, both included. */
  int(least: number, most: number): number;
  /** Any number from `least` up to `most`. */
  between(least: number, most: number): number;
  chance(share: number): boolean;
  pick<Value>(from: readonly Value[]): Value;
  bytes(length: number): Uint8Array;
}

/** Murmur3's finaliser over several words: the same words give the same number, whatever was drawn before. */
export function mixed(...words: readonly number[]): number {
  let hash = 0x9e3779b9;
  for (const word of words) {
    hash = Math.imul(hash ^ word, 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    hash ^= hash >>> 16;
  }
  return hash >>> 0;
}

export function createRandom(...seed: readonly number[]): Random {
  let a = mixed(...seed, 1) | 0;
  let b = mixed(...seed, 2) | 0;
  let c = mixed(...seed, 3) | 0;
  let count = 1;

  function word(): number {
    const sum = (((a + b) | 0) + count) | 0;
    count = (count + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    c |= 0;
    return sum >>> 0;
  }
  for (let turn = 0; turn < 12; turn += 1) word();

  const next = (): number => word() / 2 ** 32;
  const int = (least: number, most: number): number => least + Math.floor(next() * (most - least + 1));
  return {
    next,
    int,
    between: (least, most) => least + next() * (most - least),
    chance: (share) => next() < share,
    pick<Value>(from: readonly Value[]): Value {
      const found = from[int(0, from.length - 1)];
      if (found === undefined) throw new RangeError("nothing to pick from");
      return found;
    },
    bytes(length) {
      const bytes = new Uint8Array(length);
      for (let at = 0; at < length; at += 1) bytes[at] = word() >>> 24;
      return bytes;
    },
  };
}
