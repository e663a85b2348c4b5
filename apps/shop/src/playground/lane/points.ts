/** Points at which a lane stops and says so; whoever supervises it kills it there, with a signal. */
import type { KillPoint } from "../contract.ts";

/**
 * Names of the lanes' own: the handler has settled its row, which is the last commit where there is no key; a transaction of
 * a handler was committed.
 */
export type Point = KillPoint | "row-settled" | "committed";

export interface Points {
  arm(point: KillPoint): void;
  /** Nothing is armed any more, and all that stand at a point go on. */
  disarm(): void;
  goOn(stand: number): void;
  /** Goes on at once, unless this point is armed: then not before it is told to. */
  reach(point: KillPoint): Promise<void>;
}

export function createPoints(told: (point: KillPoint, stand: number) => void): Points {
  let armed: KillPoint | undefined;
  let stands = 0;
  /** Several, where a point is armed again while somebody stands there. */
  const standing = new Map<number, () => void>();
  return {
    arm: (point) => {
      armed = point;
    },
    disarm: () => {
      armed = undefined;
      for (const goOn of standing.values()) goOn();
      standing.clear();
    },
    goOn(stand) {
      standing.get(stand)?.();
      standing.delete(stand);
    },
    async reach(point) {
      if (armed !== point) return;
      armed = undefined;
      const stand = (stands += 1);
      const waiting = Promise.withResolvers<void>();
      standing.set(stand, waiting.resolve);
      told(point, stand);
      await waiting.promise;
    },
  };
}
