/**
 * `npm run fuzz -- --inputs N --from S [--target NAME]` tries N inputs of each kind, from number S on, and tells the
 * number of the first that breaks a promise: `--inputs 1 --from THAT --target NAME` tries it again.
 */
import { parseArgs } from "node:util";
import { findService } from "../../scripts/services/find.ts";
import type { Instance } from "../../scripts/services/instance.ts";
import { runTarget, type Target } from "./target.ts";
import { commandOf } from "../../scripts/proof/command.ts";
import { beginRun } from "../../scripts/proof/run.ts";
import { targets } from "./targets.ts";

const { values } = parseArgs({
  options: {
    inputs: { type: "string" },
    from: { type: "string", default: "1" },
    target: { type: "string" },
    /** The counts, as data. */
    json: { type: "string" },
    quiet: { type: "boolean", default: false },
  },
});

const chosen = targets.filter(({ name }) => values.target === undefined || name === values.target);
if (chosen.length === 0)
  throw new RangeError(`--target: expected one of ${targets.map(({ name }) => name).join(", ")}, got ${values.target}`);

const say = (line: string): void => {
  if (!values.quiet) console.log(line);
};

const started: Instance[] = [];

async function urlFor({ needs }: Target): Promise<string> {
  if (needs === undefined) return "";
  const found = await findService(needs, say);
  if (found.url === undefined) throw new Error(`no ${needs}: ${found.reason}`);
  if ("instance" in found) started.push(found.instance);
  return found.url;
}

const keep = beginRun(values.json);
const counts: Record<string, number> = {};
let total = 0;
let broken = 0;
for (const target of chosen) {
  const url = await urlFor(target);
  const startedMs = performance.now();
  let saidMs = startedMs;
  const inputs = values.inputs === undefined ? target.inputs : Number(values.inputs);
  const run = await runTarget(target, { url, inputs, from: Number(values.from) }, (done) => {
    if (performance.now() - saidMs < 5_000) return;
    saidMs = performance.now();
    say(`${target.name}: ${done} of ${inputs}`);
  });
  total += run.inputs;
  counts[target.name] = run.inputs;
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
  if (run.found === undefined) say(`${target.name}: ${run.inputs} inputs in ${seconds} s, nothing broken`);
  else {
    console.log(`${target.name}: seed ${run.found.seed}: ${run.found.detail}`);
    broken += 1;
    process.exitCode = 1;
  }
}
say(`${total} inputs from ${values.from}`);
keep({
  kind: "fuzz",
  what: values.target ?? "all kinds",
  command: commandOf("fuzz", process.argv.slice(2)),
  tried: total,
  unit: "inputs",
  seeds: `from ${values.from}`,
  counts,
  violations: broken,
});
await Promise.all(started.map((instance) => instance.stop()));
