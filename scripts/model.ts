/**
 * Checks the model of a record and prints states and times.
 *
 *   npm run model                        what the tests check
 *   npm run model -- --wide              larger bounds too: minutes and some gigabytes
 *   npm run model -- --json FILE         the counts, as data
 *   npm run model -- --trail NAME        the counterexample of a mutant, or of the run or limit whose title begins so
 */
import { parseArgs } from "node:util";
import { limits, mutants, runs, wideRuns, type Run } from "../test/model/runs.ts";
import { buildVerifiers } from "../test/model/spin.ts";
import { beginRun } from "./proof/run.ts";
import { install } from "./services/install.ts";

const { values } = parseArgs({
  options: { wide: { type: "boolean" }, trail: { type: "string" }, json: { type: "string" } },
});
const keep = beginRun(values.json);
await install(["spin"], console.log);
const startedMs = performance.now();
const verifiers = await buildVerifiers();
console.log(`built in ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
let failed = 0;
let visited = 0;

async function line(run: Run, mutant: string | undefined, wanted: "holds" | "refuted"): Promise<void> {
  const { holds, violation, states, seconds } = await verifiers.check(run, mutant);
  const right = wanted === "holds" ? holds : violation !== undefined;
  if (!right) failed += 1;
  if (wanted === "holds") visited += states;
  const found = holds ? "holds" : violation === undefined ? "unfinished" : "refuted";
  const title = mutant === undefined ? run.title : `${mutant} in "${run.title}"`;
  const size = `${states.toLocaleString("en")} states, ${seconds.toFixed(2)} s`;
  console.log(`${right ? "ok    " : "FAILED"}  ${found.padEnd(8)}  ${title}: ${size}`);
}

async function show(name: string): Promise<void> {
  const every = [...Object.values(runs), ...limits, ...wideRuns];
  const mutant = mutants[name] === undefined ? undefined : name;
  const run = mutants[name] ?? every.find(({ title }) => title.startsWith(name));
  if (run === undefined) throw new Error(`no mutant, run or limit is called ${name}`);
  const { violation } = await verifiers.check(run, mutant);
  console.log(violation === undefined ? "there is no counterexample" : await verifiers.trail(run, mutant));
}

try {
  if (values.trail === undefined) {
    for (const run of [...Object.values(runs), ...(values.wide === true ? wideRuns : [])])
      await line(run, undefined, "holds");
    for (const [mutant, run] of Object.entries(mutants)) await line(run, mutant, "refuted");
    for (const run of limits) await line(run, undefined, "refuted");
    keep({
      kind: "model",
      what: values.wide === true ? "a record, larger bounds" : "a record",
      command: `npm run model${values.wide === true ? " -- --wide" : ""}`,
      tried: visited,
      unit: "states",
      counts: {
        runs: Object.keys(runs).length + (values.wide === true ? wideRuns.length : 0),
        "rules undone and refuted": Object.keys(mutants).length,
        "limits refuted": limits.length,
      },
      violations: failed,
      isExhaustive: true,
    });
    console.log(`${failed} wrong, ${((performance.now() - startedMs) / 1000).toFixed(1)} s in all`);
  } else {
    await show(values.trail);
  }
} finally {
  verifiers.close();
}
process.exitCode = failed > 0 ? 1 : 0;
