/**
 * `npm run proof:mutants [-- --part PART] [--only PATTERN] [--seeds N] [--base FILE]`: every mutant must be found within N seeds.
 * The rows of those that were found are written into the table of what was needed. The base is a list of edits that are made first.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { beginRun } from "../../scripts/proof/run.ts";
import { hunt, type Hunt } from "./hunt.ts";
import { mutants } from "./list.ts";
import { partOf, root, type Edit } from "./mutant.ts";
import { tableOf, tablePath } from "./table.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "20000" },
    from: { type: "string", default: "1" },
    /** `engine`, `events` or `transactions`; absent: all. */
    part: { type: "string" },
    only: { type: "string", default: "" },
    workers: { type: "string", default: "2" },
    base: { type: "string" },
    /** The counts, as data. */
    json: { type: "string" },
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

/** As each ends: a run of all takes a while. What starts from other seeds or other source is not for the page. */
function note(hunted: Hunt): void {
  tell(hunted);
  if (values.base !== undefined || values.ignore !== "" || values.from !== "1") return;
  const path = join(root, tablePath);
  writeFileSync(path, tableOf(mutants, [hunted], existsSync(path) ? readFileSync(path, "utf8") : ""));
}

const keep = beginRun(values.json);
const ofPart = mutants.filter((mutant) => values.part === undefined || partOf(mutant) === values.part);
const chosen = ofPart.filter(({ name }) => new RegExp(values.only).test(name));
const hunts = await hunt(chosen, {
  seeds: Number(values.seeds),
  from: Number(values.from),
  workers: Number(values.workers),
  base: values.base === undefined ? [] : (JSON.parse(readFileSync(values.base, "utf8")) as Edit[]),
  ignore: values.ignore,
  onHunt: note,
});
const missed = hunts.filter(({ found }) => found === undefined).length;
console.log(`${chosen.length - missed} of ${chosen.length} mutants found`);
keep({
  kind: "rules undone",
  what: values.part ?? "simulation",
  command: `npm run proof:mutants${values.part === undefined ? "" : ` -- --part ${values.part}`}`,
  tried: chosen.length,
  unit: "rules",
  counts: { found: chosen.length - missed, seeds: hunts.reduce((sum, { seeds }) => sum + seeds, 0) },
  violations: missed,
  isExhaustive: true,
});
if (missed > 0) process.exitCode = 1;
