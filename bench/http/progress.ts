/** One line while a run is under way: what it does and when it will be done. */
export class Progress {
  readonly #seconds: number;
  readonly #startMs = Date.now();
  #shown = false;

  constructor(seconds: number) {
    this.#seconds = seconds;
  }

  beforehand(): string {
    const end = new Date(this.#startMs + this.#seconds * 1_000);
    return `takes about ${minutes(this.#seconds)}, until ${end.toTimeString().slice(0, 5)}`;
  }

  say(line: string): void {
    const left = Math.max(0, this.#seconds - (Date.now() - this.#startMs) / 1_000);
    const text = `${line}; ${minutes(left)} left`;
    // Only a terminal can take a line back.
    if (!process.stderr.isTTY) return void process.stderr.write(`${text}\n`);
    process.stderr.write(`\r\x1b[K${text}`);
    this.#shown = true;
  }

  end(): void {
    if (this.#shown) process.stderr.write("\r\x1b[K");
    this.#shown = false;
  }
}

function minutes(seconds: number): string {
  return seconds < 100 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`;
}
