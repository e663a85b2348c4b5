/**
 * Finds two keys of one caller with the same content, beside the requests: each process remembers the first runs of the
 * last minutes, its own as it writes them and those of others from the pages that they wrote. A store is asked once for
 * what is new, and for the names of the few that meet.
 */
import { limits } from "../core/contract/defaults.ts";
import type { AttemptBatch, LogResult, RecordName, SuspectedDuplicate } from "../core/contract/history.ts";
import { Intents, type IntentPlace } from "../core/record-machine/intents.ts";
import { intentWords, readPage, writtenPage, PageWriter, type WrittenPage } from "../core/record-machine/log-page.ts";

export interface StoredPage {
  readonly place: number;
  readonly writtenMs: number;
}

export interface LogPages {
  /** Intents of pages that other processes wrote since then, in the order of writing, at most `pagesMax`. */
  since(sinceMs: number, process: string): Promise<readonly (StoredPage & { readonly intents: Uint8Array })[]>;
  page(place: number): Promise<Uint8Array | undefined>;
  /** Those that are new: not noted already, and neither of the two forgotten. A few. */
  addPairs(pairs: readonly SuspectedDuplicate[]): Promise<readonly SuspectedDuplicate[]>;
}

export const pagesMax = 512;
/** Looks at the pages of others in one batch. */
const asksMax = 8;
/** What was written so long before the last page that was seen may have been committed after it. */
const overlapMs = 3_000;
/** Pages that are asked for names, in one batch. */
const namedPagesMax = 8;
const nothing: LogResult = { pairs: [], more: 0 };

interface Meeting {
  readonly first: IntentPlace;
  readonly second: IntentPlace;
}

/** The whole batch as one page: what its records tell of, and what is also written beside them. */
export function pageOfBatch(batch: AttemptBatch): WrittenPage {
  const writer = new PageWriter();
  for (const note of batch.notes) writer.add(note, -note.agoMs, note.count, note.spreadMs);
  const parts = [batch.runs, writer.count === 0 ? undefined : writer.packed(0)];
  return writtenPage(
    batch,
    parts.filter((part) => part !== undefined),
  );
}

export class SuspectSearch {
  readonly #intents = new Intents(limits.intentsMax);
  #readMs: number | undefined;
  #seen = new Map<number, number>();

  /** After the page was written, so that of two processes one at least sees both. */
  async search(
    batch: Pick<AttemptBatch, "process" | "suspectWithinMs">,
    page: WrittenPage,
    { place, writtenMs }: StoredPage,
    pages: LogPages,
  ): Promise<LogResult> {
    const { suspectWithinMs: withinMs } = batch;
    if (withinMs === 0 || page.intents.length === 0) return nothing;
    const gathered = new Meetings(withinMs);
    this.#readMs ??= writtenMs - withinMs;
    let fromMs = this.#readMs - overlapMs;
    for (let asked = 0; asked < asksMax; asked += 1) {
      const others = await pages.since(fromMs, batch.process);
      for (const other of others) {
        this.#readMs = Math.max(this.#readMs, other.writtenMs);
        if (this.#seen.has(other.place)) continue;
        this.#seen.set(other.place, other.writtenMs);
        this.#absorb(wordsOf(other.intents), other, false, gathered);
      }
      const lastMs = others.at(-1)?.writtenMs ?? 0;
      if (others.length < pagesMax || lastMs <= fromMs) break;
      // More processes than one look tells of: it goes on from the last page, or it would never come to the newest.
      fromMs = lastMs;
    }
    for (const [seen, ms] of this.#seen) if (ms < this.#readMs - overlapMs) this.#seen.delete(seen);
    this.#absorb(page.intents, { place, writtenMs }, true, gathered);
    return this.#named(gathered, new Map([[place, page.bytes]]), writtenMs, pages);
  }

  #absorb(words: Uint32Array, { place, writtenMs }: StoredPage, isOwn: boolean, gathered: Meetings): void {
    for (let at = 0; at < words.length; at += intentWords) {
      const [low = 0, high = 0, note = 0, agoMs = 0] = [words[at], words[at + 1], words[at + 2], words[at + 3]];
      const run = { page: place, note, atMs: writtenMs - agoMs, isOwn };
      const met = this.#intents.meet(low, high, run);
      if (met !== undefined && (isOwn || met.isOwn)) gathered.add(low, met, run);
    }
  }

  async #named(
    gathered: Meetings,
    known: Map<number, Uint8Array | undefined>,
    writtenMs: number,
    pages: LogPages,
  ): Promise<LogResult> {
    let { more } = gathered;
    const nameOf = async ({ page, note }: IntentPlace): Promise<RecordName | undefined> => {
      if (!known.has(page)) {
        if (known.size > namedPagesMax) return undefined;
        known.set(page, await pages.page(page));
      }
      const bytes = known.get(page);
      return bytes === undefined ? undefined : readPage(bytes, 0, note, 1)[0]?.record;
    };
    const pairs: SuspectedDuplicate[] = [];
    for (const meeting of gathered.list) {
      const [first, second] = [await nameOf(meeting.first), await nameOf(meeting.second)];
      if (first === undefined || second === undefined) more += 1;
      else if (first.key !== second.key && Buffer.compare(first.scopeHash, second.scopeHash) === 0) {
        pairs.push({ first, second, apartMs: Math.floor(meeting.second.atMs - meeting.first.atMs), atMs: writtenMs });
      }
    }
    return { pairs: pairs.length === 0 ? pairs : await pages.addPairs(pairs), more };
  }
}

/** What met in one batch, within its bounds. */
class Meetings {
  readonly list: Meeting[] = [];
  readonly #withinMs: number;
  readonly #ofIntent = new Map<number, number>();
  more = 0;

  constructor(withinMs: number) {
    this.#withinMs = withinMs;
  }

  add(intent: number, one: IntentPlace, other: IntentPlace): void {
    if (Math.abs(one.atMs - other.atMs) > this.#withinMs) return;
    const count = this.#ofIntent.get(intent) ?? 0;
    if (count >= limits.suspectsPerIntentMax || this.list.length >= limits.suspectsPerBatchMax) {
      this.more += 1;
      return;
    }
    this.#ofIntent.set(intent, count + 1);
    this.list.push(one.atMs <= other.atMs ? { first: one, second: other } : { first: other, second: one });
  }
}

/** One after the other, where a store has no better way. */
export async function addOneByOne(
  pairs: readonly SuspectedDuplicate[],
  add: (pair: SuspectedDuplicate) => Promise<boolean>,
): Promise<readonly SuspectedDuplicate[]> {
  const added: SuspectedDuplicate[] = [];
  for (const pair of pairs) if (await add(pair)) added.push(pair);
  return added;
}

function wordsOf(bytes: Uint8Array): Uint32Array {
  // A copy: the bytes of a driver need not lie on a boundary of words.
  return new Uint32Array(new Uint8Array(bytes).buffer);
}

export function bytesOfWords(words: Uint32Array): Buffer {
  return Buffer.from(words.buffer, words.byteOffset, words.byteLength);
}
