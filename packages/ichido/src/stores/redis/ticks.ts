/**
 * The tick row and what this process knows of it.
 *
 * The row is a key of its own, on another server of a cluster perhaps, and a claim touches one key only: so the claim
 * carries the row as this process last saw it, and the script holds it against the time of the server that owns the
 * record. It expires nothing unless that row proves even running up to its own `now`: no more than three intervals
 * since the last tick and three intervals of steady ones. A row that is out of date can only be too cautious; the
 * script then answers `clock`, and the claim reads the row and asks again. What an out-of-date row cannot show is that
 * another process saw the clock jump since; but a jump large enough to matter (more than three intervals) puts `now`
 * outside of what the row proves, and that is seen by the script itself. In a cluster the row also vouches for the
 * other servers' clocks: one that is off by more than three intervals expires nothing.
 */
import type { TickRequest, TickResult } from "../../core/contract/store.ts";
import { usOf } from "../../core/record-machine/record.ts";
import { isTrusted } from "../../core/record-machine/ticks.ts";
import { listOf, numberOf, textOf } from "../../drivers/redis/reply.ts";
import type { Scripts } from "./scripts.ts";

export interface Ticks {
  tick(request: TickRequest): Promise<TickResult>;
  /** Asks the server. */
  read(): Promise<{ readonly nowUs: number; readonly trusted: boolean }>;
  /** Last tick, interval and start of steadiness, as scripts take them; empty texts as long as none is known. */
  known(): readonly [last: string, interval: string, steadySince: string];
}

export function createTicks(scripts: Pick<Scripts, "run">, clockName: string): Ticks {
  let known: ReturnType<Ticks["known"]> = ["", "", ""];

  function take(reply: unknown): { nowUs: number; trusted: boolean } {
    const [now, last, interval, steady] = listOf(reply);
    const nowUs = numberOf(now);
    if (last === undefined) {
      known = ["", "", ""];
      return { nowUs, trusted: false };
    }
    known = [textOf(last), textOf(interval), textOf(steady)];
    const row = { lastUs: numberOf(last), intervalUs: numberOf(interval), steadySinceUs: numberOf(steady) };
    return { nowUs, trusted: isTrusted(row, nowUs) };
  }

  return {
    async tick({ intervalMs }) {
      const { trusted } = take(await scripts.run("tick", clockName, [String(usOf(intervalMs))]));
      return { trusted };
    },
    read: async () => take(await scripts.run("clock", clockName, [])),
    known: () => known,
  };
}
