/**
 * Attempts between two writes of the log. A first run that its record tells of by itself is packed at once; equal answers
 * to one key are one note. So a request leaves no object behind, but for the first duplicates of a few keys.
 */
import { limits } from "../contract/defaults.ts";
import type { RequestOutcome } from "../contract/events.ts";
import type { AttemptBatch, AttemptNote } from "../contract/history.ts";
import type { Identity } from "../contract/record.ts";
import { isRun } from "../record-machine/history.ts";
import { PageWriter } from "../record-machine/log-page.ts";

export interface Answered {
  readonly identity: Identity;
  readonly number: number;
  readonly outcome: RequestOutcome;
  readonly observed: boolean;
  readonly askedMs: number;
  readonly tookMs: number;
  readonly status: number | undefined;
  readonly attempt: number | undefined;
  readonly fence: number | undefined;
  readonly askedBy: string | undefined;
  readonly canonical: Uint8Array | undefined;
  readonly keepMs: number;
}

/** Times are moments of this process until it is sent. */
interface Waiting {
  readonly first: Answered;
  count: number;
  lastMs: number;
  /** Of the same key, with another answer, asker or scope. */
  next: Waiting | undefined;
}

const isReplay = (outcome: RequestOutcome): boolean => outcome === "replayed" || outcome === "replayed_after_wait";

/** What its record will tell of it. */
const isTold = (note: Answered): boolean => !note.observed && note.askedBy === undefined;

export class GatheredAttempts {
  readonly #page = new PageWriter();
  /** The zero of the page's times. */
  readonly #zeroMs: number;
  readonly #ofKey = new Map<string, Waiting>();
  readonly #waiting: Waiting[] = [];
  #merged = 0;

  constructor(nowMs: number) {
    this.#zeroMs = nowMs;
  }

  /** Notes. */
  get size(): number {
    return this.#page.count + this.#waiting.length;
  }

  /** Attempts that the notes stand for. */
  get attempts(): number {
    return this.size + this.#merged;
  }

  get isFull(): boolean {
    return this.#page.byteLength >= limits.logPageBytesMax;
  }

  /** The first run of a key, which is completed by it. */
  addKept(note: Answered): void {
    if (!isTold(note) && this.#push(note, limits.replayNotesMax)) return;
    this.#page.add(note, note.askedMs - this.#zeroMs);
  }

  /** False: there is no room for another note. */
  add(note: Answered): boolean {
    if (isRun(note.outcome)) return this.#push(note, limits.attemptBatchMax);
    for (let like = this.#ofKey.get(note.identity.key); like !== undefined; like = like.next) {
      if (!isAlike(like.first, note)) continue;
      like.count += 1;
      like.lastMs = note.askedMs;
      this.#merged += 1;
      return true;
    }
    return this.#push(note, isReplay(note.outcome) ? limits.replayNotesMax : limits.attemptBatchMax);
  }

  /** As it is sent now. */
  batch(nowMs: number): Pick<AttemptBatch, "notes" | "runs"> {
    const notes = this.#waiting.map((waiting) => noteOf(waiting, nowMs));
    return { notes, ...(this.#page.count > 0 && { runs: this.#page.packed(Math.max(0, nowMs - this.#zeroMs)) }) };
  }

  #push(note: Answered, most: number): boolean {
    if (this.#waiting.length >= most) return false;
    const { key } = note.identity;
    const waiting = { first: note, count: 1, lastMs: note.askedMs, next: this.#ofKey.get(key) };
    this.#waiting.push(waiting);
    this.#ofKey.set(key, waiting);
    return true;
  }
}

function isAlike(one: Answered, other: Answered): boolean {
  return (
    one.outcome === other.outcome &&
    one.status === other.status &&
    one.askedBy === other.askedBy &&
    one.observed === other.observed &&
    Buffer.compare(one.identity.scopeHash, other.identity.scopeHash) === 0
  );
}

function noteOf({ first, count, lastMs }: Waiting, nowMs: number): AttemptNote {
  const { observed, askedMs, status, attempt, fence, askedBy, canonical, ...told } = first;
  return {
    ...told,
    agoMs: Math.max(0, nowMs - askedMs),
    ...(observed && { observed: true }),
    ...(status !== undefined && { status }),
    ...(attempt !== undefined && { attempt }),
    ...(fence !== undefined && { fence }),
    ...(askedBy !== undefined && { askedBy }),
    ...(canonical !== undefined && { canonical }),
    ...(count > 1 && { count, spreadMs: Math.max(0, lastMs - askedMs) }),
  };
}
