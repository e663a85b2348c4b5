/**
 * `npm run soak -- --store STORE --minutes M [--seed S] [--json FILE]`: chaos for hours, unattended. The report is
 * written after every round. SIGINT and SIGTERM end it after the round under way, with its report.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { commandOf } from "../../scripts/proof/command.ts";
import { textOf } from "../report.ts";
import { isStoreName, storeNames } from "../setup.ts";
import { holds, soak, type SoakReport } from "./soak.ts";

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "postgres" },
    minutes: { type: "string", default: "60" },
    seed: { type: "string" },
    servers: { type: "string" },
    callers: { type: "string" },
    /** How many times as long as in a run of chaos it is from one fault of a kind to the next. */
    pace: { type: "string" },
    /** How long a caller rests between two operations, at most. */
    "rest-ms": { type: "string" },
    json: { type: "string" },
  },
});
const { store, json } = values;
if (!isStoreName(store)) throw new RangeError(`--store: expected ${storeNames.join(", ")}, got ${store}`);

const minutes = Number(values.minutes);
if (!(minutes > 0)) throw new RangeError(`--minutes: expected a number above 0, got ${values.minutes}`);

const ending = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => ending.abort());
const numberOf = (name: "servers" | "callers" | "pace" | "rest-ms"): number | undefined =>
  values[name] === undefined ? undefined : Number(values[name]);
const given = { servers: numberOf("servers"), callers: numberOf("callers"), pace: numberOf("pace") };
const command = commandOf("soak", process.argv.slice(2));
const keep = (report: SoakReport): void => {
  if (json !== undefined) writeFileSync(json, `${JSON.stringify({ command, ...report }, undefined, 2)}\n`);
};

const report = await soak({
  store,
  minutes,
  seed: Number(values.seed ?? Math.floor(Math.random() * 2 ** 31)),
  ...(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Record<string, number>),
  ...(values["rest-ms"] === undefined ? {} : { restMs: Number(values["rest-ms"]) }),
  signal: ending.signal,
  progress: (line) => console.log(line),
  told: keep,
});
keep(report);
console.log(textOf(report));
const last = report.footprints.at(-1);
console.log(`${report.rounds} rounds in ${report.minutes} minutes; in the end ${JSON.stringify(last)}`);
for (const what of report.grown) console.log(`grown: ${what}`);
process.exit(holds(report) ? 0 : 1);
