/**
 * Lanes, proxies and the bank are shared, and a count is true of a world that nobody else changes meanwhile: a storm, a
 * limit, a sweep, a drill and a payment under a fault go one at a time. Whoever comes meanwhile is refused, with the reason.
 */
import { randomUUID } from "node:crypto";
import { ShopError } from "../http/problems.ts";

export interface Act {
  /** For the reason of a refusal: "a storm". */
  readonly what: string;
  /** The same act again, such as the other lane of a payment, is let in. */
  readonly name: string;
  /** Nobody goes on with it, though nobody said so: a page that was closed does not say good-bye. */
  isAbandoned?(this: void): boolean;
  /** Takes back what an abandoned one has armed. */
  clear?(this: void): Promise<void>;
}

export interface Stage {
  /** Refuses while somebody else is on it; takes back what somebody abandoned. */
  pass(): Promise<void>;
  enter(act: Act): Promise<void>;
  isOn(name: string): boolean;
  leave(name: string): void;
  /** For the time of this work alone. */
  during<Done>(what: string, work: () => Promise<Done>): Promise<Done>;
}

export function createStage(): Stage {
  let current: Act | undefined;
  /** Whoever comes next arms nothing before: it would be taken back with what is left. */
  let clearing: Promise<void> = Promise.resolve();
  const takeBack = async (next: Act | undefined): Promise<void> => {
    const last = current;
    if (last !== undefined && last.name !== next?.name && last.isAbandoned?.() !== true) {
      throw new ShopError(
        "validation",
        `${last.what} is under way, and the lanes and the bank are shared; wait for its end`,
      );
    }
    // Before anything is waited for: of two who come at once, one is refused.
    current = next;
    const cleared = clearing.then(() => (last?.name === next?.name ? undefined : last?.clear?.()));
    clearing = cleared.catch(() => undefined);
    try {
      await cleared;
    } catch (error) {
      if (current === next) current = undefined;
      throw error;
    }
  };
  const stage: Stage = {
    pass: () => takeBack(undefined),
    enter: takeBack,
    isOn: (name) => current?.name === name,
    leave(name) {
      if (current?.name === name) current = undefined;
    },
    async during(what, work) {
      const name = randomUUID();
      await takeBack({ what, name });
      return work().finally(() => stage.leave(name));
    },
  };
  return stage;
}
