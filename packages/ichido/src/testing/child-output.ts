/** Keeps the lines that a child printed, and lets tests wait for a line. */
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

const linesMax = 10_000;

export class ChildOutput {
  /** Oldest first, at most the last 10,000. */
  readonly lines: string[] = [];
  readonly #watchers = new Set<() => void>();
  readonly #onLine: ((line: string) => void) | undefined;
  #ending: string | undefined;

  constructor(onLine?: (line: string) => void) {
    this.#onLine = onLine;
  }

  read(stream: Readable): void {
    createInterface({ input: stream }).on("line", (line) => {
      this.lines.push(line);
      if (this.lines.length > linesMax) this.lines.shift();
      this.#onLine?.(line);
      this.#changed();
    });
  }

  /** The child has ended; `how` goes into the error of those that still wait. */
  end(how: string): void {
    this.#ending = how;
    this.#changed();
  }

  #changed(): void {
    for (const watcher of this.#watchers) watcher();
  }

  #explained(what: string): Error {
    return new Error(`${what}:\n${this.lines.slice(-20).join("\n")}`);
  }

  /** The first matching line, past or future. */
  waitFor(pattern: RegExp, timeoutMs: number): Promise<RegExpExecArray> {
    const flat = new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ""));
    const { promise, resolve, reject } = Promise.withResolvers<RegExpExecArray>();
    let seen = 0;
    const look = (): void => {
      for (; seen < this.lines.length; seen += 1) {
        const match = flat.exec(this.lines[seen] ?? "");
        if (match !== null) return resolve(match);
      }
      // The buffer dropped old lines: what is new is at its end.
      seen = Math.min(seen, linesMax - 1);
      if (this.#ending === undefined) return;
      reject(this.#explained(`the child ended (${this.#ending}) before it printed ${String(pattern)}`));
    };
    const late = (): void => reject(this.#explained(`no line matched ${String(pattern)} within ${timeoutMs} ms`));
    const timer = setTimeout(late, timeoutMs);
    this.#watchers.add(look);
    look();
    return promise.finally(() => {
      this.#watchers.delete(look);
      clearTimeout(timer);
    });
  }
}
