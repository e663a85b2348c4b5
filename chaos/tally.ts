/** What a run has seen: faults that hit, and events that the processes told of. */
export const sights = [
  "takeover",
  "fence-rejected",
  "replay",
  "ambiguous-commit",
  "settled-by-reconciler",
  "settled-by-person",
  "answer-by-http1",
  "answer-by-http2",
] as const;

export type Sight = (typeof sights)[number];

const troublesMax = 50;

export class Tally {
  readonly faults = new Map<string, number>();
  readonly seen = new Map<string, number>();
  readonly troubles: string[] = [];
  readonly #beganMs = performance.now();

  get seconds(): number {
    return (performance.now() - this.#beganMs) / 1_000;
  }

  get faultsInAll(): number {
    return [...this.faults.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Writes that were refused inside of the processes, because there was no room. */
  get noRoom(): number {
    return this.seen.get("no-room") ?? 0;
  }

  /** It did harm to a call under way. */
  hit(kind: string): void {
    this.faults.set(kind, (this.faults.get(kind) ?? 0) + 1);
  }

  see(sight: string): void {
    this.seen.set(sight, (this.seen.get(sight) ?? 0) + 1);
  }

  trouble(what: string): void {
    if (this.troubles.length < troublesMax) this.troubles.push(what.replaceAll(/file:\S*\/node_modules\//g, ""));
  }

  /** A line that a process printed. */
  read(line: string): void {
    const [word, ...rest] = line.split(" ");
    if (word === "saw") this.see(rest.join(" "));
    else if (word === "reconciled") this.see("settled-by-reconciler");
    else if (word === "settled") this.#settled(rest[0], rest[1]);
    else if (word === "trouble") this.trouble(rest.join(" "));
  }

  /** What a person said of a doubt. To hold it decides nothing yet. */
  #settled(kind: string | undefined, result: string | undefined): void {
    if (result !== "ok") this.see(`settle ${result}`);
    else this.see(kind === "hold" ? "held-by-person" : "settled-by-person");
  }
}
