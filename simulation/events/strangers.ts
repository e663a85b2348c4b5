/** What comes to the broker beside the outbox, and must become a letter: nobody may pass it by in silence, nor run it. */
import type { EventMessage } from "../../packages/ichido/src/brokers/message.ts";
import type { StrangerAs } from "./plan-apart.ts";

/** Not names that a handler can have. */
export const unreadableName = "(unreadable)";
export const unhandledName = "(unhandled)";

interface Stranger {
  readonly name: string;
  /** What no other message has in it. */
  readonly mark: string;
  /** Those whose letter it must become. */
  readonly owed: Set<string>;
}

export class Strangers {
  readonly #all: Stranger[] = [];
  /** Of topics that no handler wants: people have given them to the handlers. */
  readonly given = new Set<string>();

  get count(): number {
    return this.#all.length;
  }

  /** `like` is an event that the handlers have processed. */
  message(as: StrangerAs, like: EventMessage, handlers: readonly string[]): EventMessage {
    const mark = `stranger-${this.#all.length}`;
    const isEvent = as !== "unwanted" && as !== "unreadable";
    const owed = isEvent ? handlers : [as === "unwanted" ? unhandledName : unreadableName];
    this.#all.push({ name: isEvent ? `${mark} as ${like.id}` : mark, mark, owed: new Set(owed) });
    switch (as) {
      case "payload":
        return { ...like, payload: Buffer.from(JSON.stringify({ id: like.id, mark })) };
      case "topic":
        return { ...like, topic: `order.${mark}` };
      case "source":
        return { ...like, source: `/${mark}` };
      case "content-type":
        return { ...like, contentType: `text/${mark}` };
      case "unwanted":
        return { ...like, id: mark, topic: `${mark}.paid` };
      case "unreadable":
        return { ...like, id: mark, topic: "", payload: Buffer.from(mark) };
    }
  }

  /** It has a letter, by what the letter keeps of its message. */
  lettered(handler: string, content: string): void {
    for (const { mark, owed } of this.#all) if (content.includes(mark)) owed.delete(handler);
  }

  untold(): string | undefined {
    const found = this.#all.find(({ owed }) => owed.size > 0);
    return found && `${found.name}: no letter of ${[...found.owed].join(", ")}`;
  }
}
