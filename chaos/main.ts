/**
 * `npm run chaos -- --store STORE --seconds N [--seed S] [--control naive|no-fence] [--json FILE]`: several servers on a
 * real store, everything that can go wrong, and what it came to. A control must fail: it ends well when it did.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { holds, textOf } from "./report.ts";
import { run } from "./run.ts";
import { isStoreName, storeNames } from "./setup.ts";
import type { Control } from "./stage.ts";

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "postgres" },
    seconds: { type: "string", default: "60" },
    seed: { type: "string" },
    control: { type: "string", default: "none" },
    servers: { type: "string" },
    callers: { type: "string" },
    /** Kinds of faults, separated by commas; `nothing`: none. */
    only: { type: "string" },
    json: { type: "string" },
    quiet: { type: "boolean", default: false },
  },
});
const controls: readonly string[] = ["none", "naive", "no-fence"] satisfies readonly Control[];
const { store, control, json } = values;
if (!isStoreName(store)) throw new RangeError(`--store: expected ${storeNames.join(", ")}, got ${store}`);
if (!controls.includes(control)) throw new RangeError(`--control: expected ${controls.join(", ")}, got ${control}`);

const report = await run({
  store,
  seconds: Number(values.seconds),
  seed: Number(values.seed ?? Math.floor(Math.random() * 2 ** 31)),
  control: control as Control,
  ...(values.servers === undefined ? {} : { servers: Number(values.servers) }),
  ...(values.callers === undefined ? {} : { callers: Number(values.callers) }),
  ...(values.only === undefined ? {} : { only: values.only.split(",") }),
  progress: (line) => {
    if (!values.quiet) console.log(line);
  },
});
console.log(textOf(report));
if (json !== undefined) writeFileSync(json, `${JSON.stringify(report, undefined, 2)}\n`);
const isControl = control !== "none";
if (isControl && report.violations.length === 0) console.log("the control did not fail: the judgement is blind");
// What bundled the programs may still have its pipe open.
process.exit((isControl ? report.violations.length > 0 : holds(report)) ? 0 : 1);
