/** Which bytes, in which direction, end a connection. */
import { watchBytes } from "./byte-watch.ts";
import type { ByteWatch } from "./byte-watch.ts";

export type Direction = "to-server" | "to-client";

export interface CutRule {
  readonly direction: Direction;
  /** Bytes as they go over the wire. */
  readonly pattern: string | Uint8Array;
  /**
   * `before`: the pattern never arrives. `after`: it arrives; towards the server the connection then lives until the
   * first byte of an answer, which is dropped, so that the server has surely read what it was sent.
   */
  readonly place: "before" | "after";
  /** Default `reset` (RST), otherwise `end` (FIN) or `blackhole` (open, but dead). */
  readonly how?: "reset" | "end" | "blackhole";
  /** Which occurrence fires, counted over all connections. Default the first. */
  readonly occurrence?: number;
  /** How often it fires before it disarms itself. Default once. */
  readonly times?: number;
}

export interface Cut {
  /** Resolves when a connection has been cut for the first time. */
  readonly fired: Promise<void>;
  readonly count: number;
  disarm(): void;
}

export interface CutMatch {
  readonly rule: CutRule;
  /** Where the pattern begins and ends in the chunk. */
  readonly start: number;
  readonly end: number;
  /** The connection has been cut. */
  fire(): void;
}

export interface CutRules {
  arm(rule: CutRule): Cut;
  clear(): void;
  /** For one connection: patterns are looked for in its own stream, occurrences are counted over all. */
  watcher(): (direction: Direction, chunk: Buffer) => CutMatch | undefined;
}

interface Armed {
  readonly rule: CutRule;
  readonly fired: () => void;
  seen: number;
  count: number;
}

export function createCutRules(): CutRules {
  const armedRules = new Set<Armed>();
  return {
    arm(rule) {
      // Refuses a bad pattern here, where the mistake is, and not in the middle of a connection.
      watchBytes(rule.pattern);
      const { promise, resolve } = Promise.withResolvers<void>();
      const armed: Armed = { rule, fired: resolve, seen: 0, count: 0 };
      armedRules.add(armed);
      return {
        fired: promise,
        get count() {
          return armed.count;
        },
        disarm: () => void armedRules.delete(armed),
      };
    },
    clear: () => armedRules.clear(),
    watcher() {
      const watches = new Map<Armed, ByteWatch>();
      return (direction, chunk) => {
        for (const armed of armedRules) {
          if (armed.rule.direction !== direction) continue;
          const watch = watches.get(armed) ?? watchBytes(armed.rule.pattern);
          watches.set(armed, watch);
          const found = watch.look(chunk);
          if (found === undefined) continue;
          armed.seen += 1;
          if (armed.seen < (armed.rule.occurrence ?? 1)) continue;
          const fire = (): void => {
            armed.count += 1;
            if (armed.count >= (armed.rule.times ?? 1)) armedRules.delete(armed);
            armed.fired();
          };
          return { rule: armed.rule, ...found, fire };
        }
        return undefined;
      };
    },
  };
}
