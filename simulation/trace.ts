/** What happened, line by line: hashed always, kept only for those who want to read it. */
export class Trace {
  readonly lines: string[] = [];
  count = 0;
  #high = 0xdeadbeef;
  #low = 0x41c6ce57;
  readonly #keeps: boolean;

  constructor(keeps: boolean) {
    this.#keeps = keeps;
  }

  note(atMs: number, line: string): void {
    const text = `${atMs.toFixed(2)} ${line}`;
    this.count += 1;
    let high = this.#high;
    let low = this.#low;
    for (let at = 0; at < text.length; at += 1) {
      const unit = text.charCodeAt(at);
      high = Math.imul(high ^ unit, 2654435761);
      low = Math.imul(low ^ unit, 1597334677);
    }
    this.#high = Math.imul(high ^ (high >>> 16), 2246822507) ^ (low >>> 13);
    this.#low = Math.imul(low ^ (low >>> 16), 3266489909) ^ (high >>> 13);
    if (this.#keeps) this.lines.push(text);
  }

  get hash(): string {
    return (this.#high >>> 0).toString(16).padStart(8, "0") + (this.#low >>> 0).toString(16).padStart(8, "0");
  }
}
