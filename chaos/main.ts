/**
 * `npm run chaos -- --store STORE --seconds N [--seed S] [--control naive|no-fence] [--json FILE]`: several servers on a
 * real store, everything that can go wrong, and what it came to. A control must fail: it ends well when it did.
 * `--part events --broker BROKER`: writers, relays and consumers instead of servers.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { commandOf } from "../scripts/proof/command.ts";
import { eventsTextOf, type EventsReport } from "./events/report.ts";
import { brokerNames, eventStores } from "./events/setup.ts";
import { hasFailed, holds, textOf, type Report } from "./report.ts";
import { run } from "./run.ts";
import { isStoreName, storeNames } from "./setup.ts";
import type { Control } from "./stage.ts";

const { values } = parseArgs({
  options: {
    part: { type: "string", default: "requests" },
    broker: { type: "string", default: "nats" },
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

const progress = (line: string): void => {
  if (!values.quiet) console.log(line);
};
const seconds = Number(values.seconds);
if (!(seconds > 0)) throw new RangeError(`--seconds: expected a number above 0, got ${values.seconds}`);
const shared = {
  store,
  seconds,
  seed: Number(values.seed ?? Math.floor(Math.random() * 2 ** 31)),
  control: control as Control,
  ...(values.only === undefined ? {} : { only: values.only.split(",") }),
  progress,
};

async function ofRequests(): Promise<Report> {
  const report = await run({
    ...shared,
    ...(values.servers === undefined ? {} : { servers: Number(values.servers) }),
    ...(values.callers === undefined ? {} : { callers: Number(values.callers) }),
  });
  console.log(textOf(report));
  return report;
}

async function ofEvents(): Promise<EventsReport> {
  const broker = brokerNames.find((name) => name === values.broker);
  if (broker === undefined) throw new RangeError(`--broker: expected ${brokerNames.join(", ")}, got ${values.broker}`);
  if (!eventStores.some((name) => name === store))
    throw new RangeError(`--store: expected ${eventStores.join(", ")} for events, got ${store}`);
  const { runEvents } = await import("./events/run.ts");
  const report = await runEvents({ ...shared, broker });
  console.log(eventsTextOf(report));
  return report;
}

const parts: Readonly<Record<string, () => Promise<Report | EventsReport>>> = {
  requests: ofRequests,
  events: ofEvents,
};
const part = parts[values.part];
if (part === undefined) throw new RangeError(`--part: expected ${Object.keys(parts).join(", ")}, got ${values.part}`);
const report = await part();
const command = commandOf("chaos", process.argv.slice(2));
if (json !== undefined) writeFileSync(json, `${JSON.stringify({ command, ...report }, undefined, 2)}\n`);
const isControl = control !== "none";
if (isControl && !hasFailed(report)) console.log("the control did not fail: the judgement is blind");
// What bundled the programs may still have its pipe open.
process.exit((isControl ? hasFailed(report) : holds(report)) ? 0 : 1);
