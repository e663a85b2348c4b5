/**
 * Sweeps go over all keys in bites: a call goes on where the last one of this process stopped, and `more` says that the
 * walk has not come to its end. What a walk passes before it expires is met by the next one, or goes by its time to live.
 */
import { randomBytes } from "node:crypto";
import type { SweepRequest, SweepResult } from "../../core/contract/store.ts";
import type { Indexed } from "./index-of-records.ts";
import type { Walk } from "./listing.ts";
import { numberOf } from "../../drivers/redis/reply.ts";
import { isExpired, isForsaken, outstays } from "../../core/record-machine/view.ts";
import type { Row } from "./row.ts";
import type { Scripts } from "./scripts.ts";
import type { Ticks } from "./ticks.ts";
import { start, type Place } from "./walk.ts";

/** A record in doubt is looked after this long before the end of its retention, and from then on. */
const careUs = 3_600_000_000;

export interface Found {
  readonly name: string;
  readonly row: Row;
}

export interface Afterwards {
  /** Before they go: they alone say what finds them. */
  indexed(found: Found): Promise<Indexed>;
  removed(gone: readonly (Found & { readonly indexed: Indexed })[]): Promise<void>;
  /** It is needed, and its retention is nearly over or past. */
  stayed(name: string, row: Row): Promise<void>;
}

export function createSweep(walk: Walk, ticks: Ticks, scripts: Pick<Scripts, "run">, afterwards: Afterwards) {
  let place: Place | undefined;
  /** Found expired on a page that was cut short by a limit. */
  let left: Found[] = [];

  /** How many went; nothing when a server's clock turned out not to be trusted. */
  async function remove(some: readonly Found[]): Promise<number | undefined> {
    const found = await Promise.all(some.map(async (each) => ({ ...each, indexed: await afterwards.indexed(each) })));
    const replies = await Promise.all(found.map(({ name }) => scripts.run("sweep", name, [...ticks.known()])));
    const verdicts = replies.map(numberOf);
    await afterwards.removed(found.filter((_, at) => verdicts[at] === 1));
    return verdicts.includes(-1) ? undefined : verdicts.filter((verdict) => verdict === 1).length;
  }

  return async ({ limit, budgetMs }: SweepRequest): Promise<SweepResult> => {
    const untilMs = walk.environment.monotonicMs() + Math.min(budgetMs, walk.timeoutMs);
    if (!(await ticks.read()).trusted) return { deleted: 0, more: false, guarded: true };
    let deleted = 0;
    let asked = 0;
    if (left.length === 0) place ??= start;
    for (;;) {
      const some = left.splice(0, limit - asked);
      asked += some.length;
      const gone = await remove(some);
      if (gone === undefined) {
        // What was found and not removed lies behind the walk: the next one begins anew.
        left = [];
        place = undefined;
        return { deleted, more: false, guarded: true };
      }
      deleted += gone;
      if (asked >= limit || (place === undefined && left.length === 0)) break;
      if (walk.environment.monotonicMs() >= untilMs) break;
      if (place === undefined) continue;
      const page = await walk.page(place);
      left = page.rows.filter(({ row }) => isExpired(row, page.nowUs) || isForsaken(row, page.nowUs));
      for (const { name, row } of page.rows) {
        if (outstays(row, page.nowUs + careUs)) await afterwards.stayed(name, row);
      }
      place = page.next;
    }
    return { deleted, more: left.length > 0 || place !== undefined, guarded: false };
  };
}

type Sweep = (request: SweepRequest) => Promise<SweepResult>;

/**
 * One sweeper at a time, over all processes, by a key that goes by itself should its holder die. A holder slower than
 * `slackMs` loses it: then two may be at work, which costs time and nothing else, since each removal is decided anew.
 */
export function aloneBy(scripts: Pick<Scripts, "run">, lockName: string, slackMs: number): (sweep: Sweep) => Sweep {
  return (sweep) => async (request) => {
    const token = randomBytes(16).toString("hex");
    const lockMs = String(Math.ceil(request.budgetMs + slackMs));
    if (numberOf(await scripts.run("startSweep", lockName, [token, lockMs])) !== 1) {
      return { deleted: 0, more: false, guarded: false, busy: true };
    }
    try {
      return await sweep(request);
    } finally {
      await scripts.run("endSweep", lockName, [token]).catch(() => undefined);
    }
  };
}
