/** Points at which a lane stops and says so; whoever supervises it kills it there, with a signal. */
import type { KillPoint } from "../contract.ts";

/**
 * Names of the lanes' own: the handler has settled its row, which is the last commit where there is no key; a transaction of
 * a handler was committed.
 */
export type Point = KillPoint | "row-settled" | "committed";

export interface Points {
  arm(point: KillPoint): void;
  /** Nothing is armed any more, and what stands at a point goes on. */
  disarm(): void;
  /** Goes on at once, unless this point is armed: then not before it is disarmed. */
  reach(point: KillPoint): Promise<void>;
}

export function createPoints(told: (point: KillPoint) => void): Points {
  let armed: KillPoint | undefined;
  let goOn: (() => void) | undefined;
  return {
    arm: (point) => {
      armed = point;
    },
    disarm: () => {
      armed = undefined;
      goOn?.();
      goOn = undefined;
    },
    async reach(point) {
      if (armed !== point) return;
      armed = undefined;
      const waiting = Promise.withResolvers<void>();
      goOn = waiting.resolve;
      told(point);
      await waiting.promise;
    },
  };
}
