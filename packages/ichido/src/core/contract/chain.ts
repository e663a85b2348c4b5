/** Entries in the order in which they came, linked through themselves: to add and to remove one costs no memory. */
export interface Link<Entry> {
  before?: Entry | undefined;
  after?: Entry | undefined;
}

export class Chain<Entry extends Link<Entry>> {
  first: Entry | undefined;
  #last: Entry | undefined;

  /** As it is now, whatever is added or removed meanwhile. */
  all(): readonly Entry[] {
    const entries: Entry[] = [];
    for (let entry = this.first; entry !== undefined; entry = entry.after) entries.push(entry);
    return entries;
  }

  add(entry: Entry): void {
    entry.before = this.#last;
    entry.after = undefined;
    if (this.#last === undefined) this.first = entry;
    else this.#last.after = entry;
    this.#last = entry;
  }

  /**
   * Only what is in it. The links are taken from the entry too: one that has grown old would keep its younger neighbour,
   * and through it all that came after, out of the hands of the garbage collector.
   */
  remove(entry: Entry): void {
    const { before, after } = entry;
    entry.before = undefined;
    entry.after = undefined;
    if (before === undefined) this.first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
  }
}
