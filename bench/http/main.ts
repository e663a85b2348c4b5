/**
 * What protection costs over HTTP: `npm run bench:http -- --help`. Each server and the load generator are processes of
 * their own; ratios are to the bare framework in the same round, those of bare frameworks to bare Express.
 */
import { writeFileSync } from "node:fs";
import { servers } from "./catalogue.ts";
import { check } from "./check.ts";
import { measureImports } from "./imports.ts";
import { help, readOptions, UsageError } from "./options.ts";
import { pictureOf } from "./picture.ts";
import { Progress } from "./progress.ts";
import { estimate, run } from "./run.ts";
import { Services } from "./services.ts";
import { described, surroundings } from "./surroundings.ts";
import { notesOf, rowsOf, tableOf } from "./table.ts";

async function measure(options: ReturnType<typeof readOptions>): Promise<void> {
  const { plan, json, svg } = options;
  const around = surroundings();
  const services = new Services();
  const progress = new Progress(estimate(plan));
  console.log(`${described(around)}\n${progress.beforehand()}`);
  try {
    const outcome = await run(plan, services, (line) => progress.say(line));
    const rows = rowsOf(outcome);
    progress.end();
    console.log(`${services.described()}\n\n${tableOf(rows)}\n${notesOf(rows)}`);
    if (json !== undefined) writeFileSync(json, `${JSON.stringify({ ...around, rows, ...outcome }, null, 2)}\n`);
    if (svg !== undefined) writeFileSync(svg, pictureOf(rows, around));
  } finally {
    progress.end();
    await services.close();
  }
}

try {
  const options = readOptions(process.argv.slice(2));
  if (options.help === true) console.log(help);
  else if (options.list === true) console.log(servers.map(({ name }) => name).join("\n"));
  else if (options.import === true) await measureImports();
  else if (options.check === true) await check(options.plan.servers);
  else await measure(options);
} catch (error) {
  console.error(error instanceof UsageError ? error.message : error);
  process.exitCode = 1;
}
