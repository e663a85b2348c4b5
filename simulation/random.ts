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

/** A class, not closures: most messages draw their fate from one of their own. */
class Sfc32 implements Random {
  #a: number;
  #b: number;
  #c: number;
  #count = 1;

  constructor(a: number, b: number, c: number) {
    this.#a = a | 0;
    this.#b = b | 0;
    this.#c = c | 0;
    for (let turn = 0; turn < 12; turn += 1) this.#word();
  }

  #word(): number {
    const b = this.#b;
    const c = this.#c;
    const sum = (((this.#a + b) | 0) + this.#count) | 0;
    this.#count = (this.#count + 1) | 0;
    this.#a = b ^ (b >>> 9);
    this.#b = (c + (c << 3)) | 0;
    this.#c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  next(): number {
    return this.#word() / 2 ** 32;
  }

  int(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  between(least: number, most: number): number {
    return least + this.next() * (most - least);
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  pick<Value>(from: readonly Value[]): Value {
    const found = from[this.int(0, from.length - 1)];
    if (found === undefined) throw new RangeError("nothing to pick from");
    return found;
  }

  bytes(length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    for (let at = 0; at < length; at += 1) bytes[at] = this.#word() >>> 24;
    return bytes;
  }
}

export function createRandom(...seed: readonly number[]): Random {
  return new Sfc32(mixed(...seed, 1), mixed(...seed, 2), mixed(...seed, 3));
}
