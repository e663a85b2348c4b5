/**
 * First runs of the last minutes, by caller, operation and content: which two keys may stand for one intent. Whole
 * numbers in arrays, because there is one for every new key: objects would live long enough to be copied by every
 * collection.
 */

/** Where a first run is told of: a page of the log, and the place in it. */
export interface IntentPlace {
  readonly page: number;
  readonly note: number;
  readonly atMs: number;
  /** Of this process. */
  readonly isOwn: boolean;
}

const columns = 4;
const firstRoom = 4_096;
/** Positive whole numbers that a `Map` keeps without a box. */
const nameMask = 0x3fff_ffff;

export class Intents {
  readonly #most: number;
  readonly #places = new Map<number, number>();
  #room: number;
  /** Both halves of the hash, the note and whether it is own; a ring. */
  #words: Uint32Array;
  #pages: Float64Array;
  #timesMs: Float64Array;
  #next = 0;

  constructor(most: number) {
    this.#most = most;
    this.#room = Math.min(most, firstRoom);
    this.#words = new Uint32Array(this.#room * columns);
    this.#pages = new Float64Array(this.#room);
    this.#timesMs = new Float64Array(this.#room);
  }

  /** Names that are remembered: never more than the ring has places. */
  get size(): number {
    return this.#places.size;
  }

  /** Remembers a first run, and tells of the nearest one with the same intent. Of both, the later is remembered. */
  meet(low: number, high: number, run: IntentPlace): IntentPlace | undefined {
    const name = low & nameMask;
    const known = this.#places.get(name);
    const met = known === undefined ? undefined : this.#at(known, low, high);
    if (known === undefined || met === undefined) this.#append(name, low, high, run);
    else if (met.atMs <= run.atMs) this.#write(known, low, high, run);
    return met;
  }

  #at(place: number, low: number, high: number): IntentPlace | undefined {
    const slot = place % this.#room;
    const from = slot * columns;
    if (this.#words[from] !== low || this.#words[from + 1] !== high) return undefined;
    return {
      page: this.#pages[slot] ?? 0,
      note: this.#words[from + 2] ?? 0,
      atMs: this.#timesMs[slot] ?? 0,
      isOwn: this.#words[from + 3] === 1,
    };
  }

  #append(name: number, low: number, high: number, run: IntentPlace): void {
    if (this.#next === this.#room && this.#room < this.#most) this.#grow();
    const place = this.#next;
    if (place >= this.#room) this.#forget(place - this.#room);
    this.#next += 1;
    this.#write(place, low, high, run);
    this.#places.set(name, place);
  }

  #write(place: number, low: number, high: number, { page, note, atMs, isOwn }: IntentPlace): void {
    const slot = place % this.#room;
    const from = slot * columns;
    this.#words[from] = low;
    this.#words[from + 1] = high;
    this.#words[from + 2] = note;
    this.#words[from + 3] = Number(isOwn);
    this.#pages[slot] = page;
    this.#timesMs[slot] = atMs;
  }

  #forget(place: number): void {
    const name = (this.#words[(place % this.#room) * columns] ?? 0) & nameMask;
    if (this.#places.get(name) === place) this.#places.delete(name);
  }

  /** Only while the ring has never come round: places stay what they are. */
  #grow(): void {
    this.#room = Math.min(this.#most, this.#room * 2);
    const [words, pages, timesMs] = [this.#words, this.#pages, this.#timesMs];
    this.#words = new Uint32Array(this.#room * columns);
    this.#pages = new Float64Array(this.#room);
    this.#timesMs = new Float64Array(this.#room);
    this.#words.set(words);
    this.#pages.set(pages);
    this.#timesMs.set(timesMs);
  }
}
