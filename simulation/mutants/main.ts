/**
 * `npm run proof:mutants [-- --seeds N] [--only PATTERN] [--base FILE]`: every mutant must be found within N seeds. The base is a
 * list of edits that are made first.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { mutants } from "./list.ts";
import { Copy, type Edit } from "./mutant.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "20000" },
    from: { type: "string", default: "1" },
    only: { type: "string", default: "" },
    base: { type: "string" },
    ignore: { type: "string", default: "" },
  },
});

const copy = new Copy();
try {
  if (values.base !== undefined) copy.edit(JSON.parse(readFileSync(values.base, "utf8")) as Edit[]);
  const chosen = mutants.filter(({ name }) => new RegExp(values.only).test(name));
  let missed = 0;
  for (const { name, edits } of chosen) {
    let undo: () => void;
    try {
      undo = copy.edit(edits);
    } catch (error) {
      missed += 1;
      console.log(`${name}: cannot be made: ${String(error)}`);
      continue;
    }
    const child = spawnSync(
      process.execPath,
      [
        "--conditions=ichido-source",
        "--disable-warning=ExperimentalWarning",
        join(copy.path, "simulation/main.ts"),
        "--quiet",
        "--seeds",
        values.seeds,
        "--from",
        values.from,
        "--ignore",
        values.ignore,
      ],
      { encoding: "utf8", cwd: copy.path },
    );
    undo();
    const found = /^seed (\d+): (\S+): (.*)$/m.exec(child.stdout);
    if (found === null) {
      missed += 1;
      console.log(`${name}: NOT FOUND ${child.stderr.slice(0, 500)}`);
    } else console.log(`${name}: seed ${found[1]}, ${found[2]}: ${(found[3] ?? "").slice(0, 160)}`);
  }
  console.log(`${chosen.length - missed} of ${chosen.length} mutants found`);
  if (missed > 0) process.exitCode = 1;
} finally {
  copy.remove();
}
