/** The one log from which everything on the page is drawn: lines of JSON in a file, and the newest of them in memory. */
import { createWriteStream, type WriteStream } from "node:fs";
import { join } from "node:path";
import { isOf, isOneOfMany, type EventNote, type LoggedEvent } from "./contract.ts";

/** A storm of 500 payments writes some 10,000. */
export const REMEMBERED_MAX = 60_000;

export class EventLog {
  readonly file: string;
  readonly #stream: WriteStream;
  readonly #watchers = new Set<(event: LoggedEvent) => void>();
  #events: LoggedEvent[] = [];
  #seq = 0;

  constructor(folder: string) {
    this.file = join(folder, "events.jsonl");
    this.#stream = createWriteStream(this.file, { flags: "a", mode: 0o600 });
  }

  note(note: EventNote): LoggedEvent {
    this.#seq += 1;
    const { raw, ...told } = note;
    const kept = raw === undefined || isOneOfMany(note.run ?? "") ? {} : { raw };
    const event: LoggedEvent = { seq: this.#seq, ...told, ...kept, atMs: note.atMs ?? Date.now() };
    this.#stream.write(`${JSON.stringify(event)}\n`);
    this.#events.push(event);
    if (this.#events.length > REMEMBERED_MAX) this.#forget();
    for (const watcher of this.#watchers) watcher(event);
    return event;
  }

  /** Tells of every event from now on, until what it returns is called. For counts, which must not forget. */
  watch(watcher: (event: LoggedEvent) => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** A quarter for each kind: a long storm must not wipe out the payment that somebody still looks at. */
  #forget(): void {
    const isMany = ({ run = "", runs = [] }: LoggedEvent): boolean => [run, ...runs].every(isOneOfMany);
    const kept = [this.#events.filter((event) => !isMany(event)), this.#events.filter(isMany)];
    this.#events = kept
      .flatMap((events) => events.slice(-REMEMBERED_MAX / 4))
      .toSorted((one, other) => one.seq - other.seq);
  }

  get events(): readonly LoggedEvent[] {
    return this.#events;
  }

  get lastSeq(): number {
    return this.#seq;
  }

  of(run: string): readonly LoggedEvent[] {
    return this.#events.filter((event) => isOf(event, run));
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.#stream.end(resolve));
  }
}
