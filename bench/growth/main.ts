/**
 * What a store costs when it holds much: `npm run bench:growth -- --help`. Levels of up to ten million records against
 * ten thousand, in alternating turns.
 */
import { writeFileSync } from "node:fs";
import { Progress } from "../http/progress.ts";
import { surroundings } from "../http/surroundings.ts";
import { nameOf } from "./level.ts";
import { help, readOptions, UsageError, type Options } from "./options.ts";
import { missingBytes, run, scheduleOf, type Schedule } from "./run.ts";
import { clean, State } from "./state.ts";
import { tablesOf } from "./table.ts";

function report({ plan, json }: Options, state: State): void {
  const measured = plan.levels.flatMap((level) => state.measured(nameOf(level)) ?? []);
  if (measured.length === 0) return;
  const servers = new Set(measured.map(({ version, settings }) => `${version}: ${settings}`));
  const around = surroundings("bench:growth");
  console.log(`${[...servers].join("\n")}\n\n${tablesOf(measured)}`);
  if (json !== undefined) writeFileSync(json, `${JSON.stringify({ ...around, measured }, null, 2)}\n`);
}

function checkDisk(schedule: Schedule, folder: string): void {
  const missing = missingBytes(schedule, folder);
  if (missing > 0) throw new UsageError(`${folder} lacks about ${(missing / 1e9).toFixed(1)} GB of free space`);
}

async function measure(options: Options): Promise<void> {
  const { plan, folder } = options;
  const state = new State(folder);
  const schedule = scheduleOf(plan, state);
  checkDisk(schedule, folder);
  const progress = new Progress(schedule.seconds);
  const { date, command, machine, loadBefore, node } = surroundings("bench:growth");
  console.log(`${date}, ${command}\n${machine}; load average before ${loadBefore.toFixed(1)}; Node ${node}`);
  console.log(`${schedule.now.length} tasks; ${progress.beforehand()}`);
  try {
    await run(schedule, plan, state, (line) => progress.say(line));
  } finally {
    progress.end();
  }
  report(options, state);
  const left = scheduleOf(plan, state);
  if (left.now.length > 0)
    console.log(`\n${left.now.length + left.later.length} tasks are left: the same command goes on`);
}

try {
  const options = readOptions(process.argv.slice(2));
  if (options.help) console.log(help);
  else if (!options.clean) await measure(options);
  else if (!clean(options.folder)) throw new UsageError(`${options.folder} is no folder of this command`);
} catch (error) {
  console.error(error instanceof UsageError ? error.message : error);
  process.exitCode = 1;
}
