/** What was written one after the other, of all records: walked from old to new, bounded, each entry with its place. */
import type { HistoryPage, HistoryQuery } from "../../core/contract/history.ts";
import { limits } from "../../core/contract/defaults.ts";
import { optionInvalid } from "../../core/contract/option-checks.ts";

interface Placed<Entry> {
  readonly place: number;
  readonly writtenUs: number;
  readonly ids: readonly string[];
  readonly entry: Entry;
}

export interface Journal<Entry> {
  /** `ids`: the records that it is about. */
  add(entry: Entry, writtenUs: number, ids: readonly string[]): void;
  walk(query: HistoryQuery, nowUs: number): HistoryPage<Entry>;
  /** Of one record, from old to new. */
  of(id: string): readonly Entry[];
  /** Takes out what is about this record, or puts other entries in their place. */
  replace(id: string, change: (entry: Entry) => Entry | undefined): void;
  /** Puts another entry in the place of each that `change` gives one for. The number of them. */
  change(change: (entry: Entry) => Entry | undefined): number;
}

/** Past `entriesMax` the oldest ones go. */
export function createJournal<Entry>(entriesMax: number): Journal<Entry> {
  /** In the order of writing: a Map keeps it, and gives up any entry at once. */
  const entries = new Map<number, Placed<Entry>>();
  const placesOf = new Map<string, number[]>();
  let last = 0;

  function unlink({ place, ids }: Placed<Entry>): void {
    entries.delete(place);
    for (const id of ids) {
      const places = placesOf.get(id)?.filter((each) => each !== place) ?? [];
      if (places.length === 0) placesOf.delete(id);
      else placesOf.set(id, places);
    }
  }

  function* after({ cursor, fromAgoMs }: HistoryQuery, nowUs: number): Generator<Placed<Entry>> {
    const place = cursor === undefined ? 0 : placeOf(cursor);
    const fromUs = cursor !== undefined || fromAgoMs === undefined ? 0 : nowUs - fromAgoMs * 1_000;
    for (const each of entries.values()) if (each.place > place && each.writtenUs >= fromUs) yield each;
  }

  return {
    add(entry, writtenUs, ids) {
      last += 1;
      entries.set(last, { place: last, writtenUs, ids, entry });
      for (const id of ids) {
        const places = placesOf.get(id);
        if (places === undefined) placesOf.set(id, [last]);
        else places.push(last);
      }
      const [oldest] = entries.size > entriesMax ? entries.values() : [];
      if (oldest !== undefined) unlink(oldest);
    },
    walk(query, nowUs) {
      const found: Placed<Entry>[] = [];
      for (const each of after(query, nowUs)) {
        if (found.length >= Math.min(query.limit, limits.historyPageMax)) break;
        found.push(each);
      }
      // Also where nothing is there yet: whoever asks again begins with what is written from now on.
      const cursor = found.at(-1)?.place.toString() ?? query.cursor ?? (last === 0 ? undefined : String(last));
      return { entries: found.map(({ entry }) => entry), ...(cursor === undefined ? {} : { cursor }) };
    },
    of: (id) => (placesOf.get(id) ?? []).flatMap((place) => entries.get(place)?.entry ?? []),
    replace(id, change) {
      for (const place of placesOf.get(id) ?? []) {
        const placed = entries.get(place);
        if (placed === undefined) continue;
        const entry = change(placed.entry);
        if (entry === undefined) unlink(placed);
        else entries.set(place, { ...placed, entry });
      }
    },
    change(change) {
      let changed = 0;
      for (const placed of entries.values()) {
        const entry = change(placed.entry);
        if (entry === undefined) continue;
        entries.set(placed.place, { ...placed, entry });
        changed += 1;
      }
      return changed;
    },
  };
}

function placeOf(cursor: string): number {
  const place = Number(cursor);
  if (Number.isSafeInteger(place) && place >= 0) return place;
  throw optionInvalid("cursor", "the cursor of an earlier page", cursor);
}
