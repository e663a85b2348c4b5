/** The command line of `npm run bench:growth`. */
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { shapes, storeNames } from "./level.ts";
import { levelsOf } from "./plan.ts";
import type { Plan } from "./run.ts";

export const help = `npm run bench:growth -- [options]

  --stores NAMES    of ${storeNames.join(", ")}, with commas between them; default all
  --levels COUNTS   of records, such as 1e5,1e6; default 1e6 and, on PostgreSQL and SQLite, 1e7; 1e5 in memory
  --shapes NAMES    of ${shapes.join(", ")}; default all that a store has
  --seconds S       of each measurement, both levels of a pair together; default 20
  --callers N       of the crowd; default 64
  --dir FOLDER      where databases are kept until --clean; default ichido-growth among temporary files
  --json FILE       writes all that was measured
  --fill            measures nothing: fills what is missing
  --clean           removes the folder
  --help            this

Every level is held against 10^4 records of the same store in alternating turns. What was filled and measured is not done
again: a run that would take longer than 40 minutes stops before, and the same command goes on. Shapes: v7 has keys of
UUID version 7, hash a table of 16 partitions, expired a half that was not swept, own records that the store wrote itself.
Servers are private ones that are started and ended.`;

export class UsageError extends Error {}

const options = {
  stores: { type: "string" },
  levels: { type: "string" },
  shapes: { type: "string" },
  seconds: { type: "string", default: "20" },
  callers: { type: "string", default: "64" },
  dir: { type: "string", default: join(tmpdir(), "ichido-growth") },
  json: { type: "string" },
  fill: { type: "boolean" },
  clean: { type: "boolean" },
  help: { type: "boolean" },
} as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof options }>>["values"];

function number(name: string, text: string, least: number): number {
  const value = Number(text);
  if (!(value >= least)) throw new UsageError(`--${name} has ${text}; a number from ${least} on is expected`);
  return value;
}

function namesIn<Name extends string>(option: string, text: string, known: readonly Name[]): readonly Name[] {
  return text.split(",").map((asked) => {
    const name = known.find((each) => each === asked);
    if (name === undefined) throw new UsageError(`--${option} has ${asked}; of ${known.join(", ")}`);
    return name;
  });
}

export interface Options {
  readonly folder: string;
  readonly plan: Plan;
  readonly json: string | undefined;
  readonly clean: boolean;
  readonly help: boolean;
}

export function readOptions(args: readonly string[]): Options {
  let values: Values;
  try {
    ({ values } = parseArgs({ args: [...args], options }));
  } catch (error) {
    throw new UsageError(`${String((error as Error).message)}\n\n${help}`);
  }
  const levels = levelsOf({
    stores: values.stores === undefined ? storeNames : namesIn("stores", values.stores, storeNames),
    shapes: values.shapes === undefined ? undefined : namesIn("shapes", values.shapes, shapes),
    rows: values.levels?.split(",").map((text) => Math.round(number("levels", text, 100))),
  });
  const times = { seconds: number("seconds", values.seconds, 1), callers: number("callers", values.callers, 1) };
  return {
    folder: resolve(values.dir),
    plan: { levels, times, fillOnly: values.fill === true },
    json: values.json,
    clean: values.clean === true,
    help: values.help === true,
  };
}
