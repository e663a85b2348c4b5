/** What a sweep may remove one day, ordered by when: a binary heap whose entries know their place. */

/** Kept by the queue inside the entry, so that an entry is moved or removed without a search. */
export interface Queued {
  dueUs: number;
  /** The index in the heap; -1: not queued. */
  place: number;
}

export interface DueQueue<Entry extends Queued> {
  first(): Entry | undefined;
  /** Queues the entry, moves it, or takes it out when there is no `dueUs`. */
  put(entry: Entry, dueUs: number | undefined): void;
}

export function createDueQueue<Entry extends Queued>(): DueQueue<Entry> {
  const heap: Entry[] = [];

  function set(place: number, entry: Entry): void {
    heap[place] = entry;
    entry.place = place;
  }

  function up(entry: Entry): void {
    let { place } = entry;
    while (place > 0) {
      const parentPlace = (place - 1) >> 1;
      const parent = heap[parentPlace];
      if (parent === undefined || parent.dueUs <= entry.dueUs) break;
      set(place, parent);
      place = parentPlace;
    }
    set(place, entry);
  }

  function down(entry: Entry): void {
    let { place } = entry;
    for (;;) {
      const left = heap[2 * place + 1];
      const right = heap[2 * place + 2];
      const least = right !== undefined && left !== undefined && right.dueUs < left.dueUs ? right : left;
      if (least === undefined || entry.dueUs <= least.dueUs) break;
      const leastPlace = least.place;
      set(place, least);
      place = leastPlace;
    }
    set(place, entry);
  }

  function remove(entry: Entry): void {
    const { place } = entry;
    const last = heap.pop();
    entry.place = -1;
    if (last === undefined || last === entry) return;
    set(place, last);
    up(last);
    down(last);
  }

  return {
    first: () => heap[0],
    put(entry, dueUs) {
      if (dueUs === undefined) {
        if (entry.place >= 0) remove(entry);
        return;
      }
      if (entry.place >= 0 && entry.dueUs === dueUs) return;
      entry.dueUs = dueUs;
      if (entry.place < 0) entry.place = heap.length;
      up(entry);
      down(entry);
    },
  };
}
