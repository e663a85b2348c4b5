/** Who hears of what a part does: the user's `onEvent`, those who came later, and the part's diagnostics channel. */
import { channel } from "node:diagnostics_channel";
import { tell } from "./listener.ts";

export interface Listeners<Event> {
  emit(event: Event): void;
  /** Adds a listener; returns its removal. */
  on(listener: (event: Event) => unknown): () => void;
  /** Someone listens: an event of every request is worth making. */
  readonly isHeard: boolean;
}

/** The parts that report; `ichido:engine` and its like are the names of their channels. */
export type Reporting = "engine" | "relay" | "consumer";

export function createListeners<Event extends object>(
  part: Reporting,
  first: readonly (((event: Event) => unknown) | undefined)[],
  failed?: (error: unknown) => void,
): Listeners<Event> {
  const listeners = new Set(first.filter((listener) => listener !== undefined));
  const diagnostics = channel(`ichido:${part}`);
  return {
    emit(event) {
      for (const listener of listeners) tell(listener, event, failed);
      // Node itself sees to it that a subscriber's error does not come back here.
      if (diagnostics.hasSubscribers) diagnostics.publish(event);
    },
    on(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    get isHeard() {
      return listeners.size > 0 || diagnostics.hasSubscribers;
    },
  };
}
