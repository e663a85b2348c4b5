/**
 * `npm run proof:mutants [-- --seeds N] [--only PATTERN] [--base FILE]`: every mutant must be found within N seeds. Where all
 * were tried, the table of what was needed is written. The base is a list of edits that are made first.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { hunt, type Hunt } from "./hunt.ts";
import { mutants } from "./list.ts";
import { root, type Edit } from "./mutant.ts";
import { tableOf, tablePath } from "./table.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "20000" },
    from: { type: "string", default: "1" },
    only: { type: "string", default: "" },
    workers: { type: "string", default: "2" },
    base: { type: "string" },
    ignore: { type: "string", default: "" },
  },
});

function tell({ mutant, found, seeds, trouble }: Hunt): void {
  const what =
    found === undefined
      ? `NOT FOUND in ${seeds} seeds ${trouble}`
      : `${seeds} seeds, ${found.invariant}: ${found.detail.slice(0, 160)}`;
  console.log(`${mutant.name}: ${what}`);
}

const chosen = mutants.filter(({ name }) => new RegExp(values.only).test(name));
const hunts = await hunt(chosen, {
  seeds: Number(values.seeds),
  from: Number(values.from),
  workers: Number(values.workers),
  base: values.base === undefined ? [] : (JSON.parse(readFileSync(values.base, "utf8")) as Edit[]),
  ignore: values.ignore,
  onHunt: tell,
});
const missed = hunts.filter(({ found }) => found === undefined).length;
console.log(`${chosen.length - missed} of ${chosen.length} mutants found`);
if (missed > 0) process.exitCode = 1;
else if (chosen.length === mutants.length) writeFileSync(join(root, tablePath), tableOf(hunts));
