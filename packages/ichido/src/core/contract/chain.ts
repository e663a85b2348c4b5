/** Entries in the order in which they came, linked through themselves: to add and to remove one costs no memory. */
export interface Link<Entry> {
  before?: Entry | undefined;
  after?: Entry | undefined;
}

export class Chain<Entry extends Link<Entry>> {
  first: Entry | undefined;
  #last: Entry | undefined;

  add(entry: Entry): void {
    entry.before = this.#last;
    entry.after = undefined;
    if (this.#last === undefined) this.first = entry;
    else this.#last.after = entry;
    this.#last = entry;
  }

  /** Only what is in it. The entry keeps its `after`, so that a walk over the chain may remove where it stands. */
  remove(entry: Entry): void {
    const { before, after } = entry;
    if (before === undefined) this.first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
  }
}
