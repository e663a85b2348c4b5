/**
 * What protection costs over HTTP: `npm run bench:http -- --help`. Each server and the load generator are processes of
 * their own; ratios are to the bare framework in the same round.
 */
import { parseArgs } from "node:util";
import { servers } from "./catalogue.ts";
import { mixes, type Mix } from "./contract.ts";
import { estimate, run } from "./run.ts";
import { placeOf } from "./services.ts";
import { rowsOf, tableOf } from "./table.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "1" },
    mix: { type: "string", default: "new,replay" },
    body: { type: "string", default: "150" },
    connections: { type: "string", default: "64" },
    list: { type: "boolean" },
    help: { type: "boolean" },
  },
});

const bytesOf = (text: string): number => Number.parseFloat(text) * (text.endsWith("k") ? 1_000 : 1);
const plan = {
  servers: servers.filter(({ name }) => values.only?.split(",").includes(name) ?? name !== "bare-express"),
  mixes: values.mix.split(",").map((name) => name as Mix),
  bodies: values.body.split(",").map(bytesOf),
  rounds: Number(values.rounds),
  seconds: Number(values.seconds),
  connections: Number(values.connections),
};
console.log(mixes.join(), estimate(plan));
const outcome = await run(plan, placeOf, (line) => process.stderr.write(`\r\x1b[K${line}`));
process.stderr.write("\r\x1b[K");
console.log(tableOf(rowsOf(outcome)));
