/** Where effects are counted: in this process, or in a file that outlives the processes of a case. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";

export interface Effects {
  /** One effect, with the attempt's fence. */
  note(fence: number, tally?: string): void;
  count(tally?: string): number;
}

export function countedEffects(): Effects {
  let count = 0;
  return {
    note() {
      count += 1;
    },
    count: () => count,
  };
}

/** A file for each tally, one line for each effect: short appends are atomic, also among processes. */
export function filedEffects(path: string): Effects {
  return {
    note: (fence, tally = "") => appendFileSync(path + tally, `${fence}\n`),
    count: (tally = "") => (existsSync(path + tally) ? readFileSync(path + tally, "utf8").split("\n").length - 1 : 0),
  };
}
