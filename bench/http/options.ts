/** The command line of `npm run bench:http`. */
import { parseArgs } from "node:util";
import { bareServers, servers } from "./catalogue.ts";
import { mixes } from "./contract.ts";
import type { Plan } from "./run.ts";

export const help = `npm run bench:http -- [options]

  --only NAMES      servers, with commas between them; a name's beginning stands for all that begin so. Default: all
  --rounds N        rounds of bare, candidate, candidate, bare; default 5
  --seconds S       of each turn; default 1
  --mix NAMES       of ${mixes.join(", ")} (5 ms handlers); default new,replay
  --body SIZES      of the request, such as 150,1k,20k; default 150
  --connections N   with one request in flight on each; default 64
  --json FILE       writes every round
  --svg FILE        writes a picture of the ratios
  --check           measures nothing: which servers pass which cases of conformance
  --import          measures nothing else: how long imports take
  --list            names of servers
  --help            this

Servers of stores are private ones that are started and ended, unless POSTGRES_URL, MARIADB_URL or REDIS_URL is set.
BENCH_NODE_FLAGS goes to every process, for profiles: BENCH_NODE_FLAGS=--cpu-prof.`;

export class UsageError extends Error {}

const options = {
  only: { type: "string" },
  rounds: { type: "string", default: "5" },
  seconds: { type: "string", default: "1" },
  mix: { type: "string", default: "new,replay" },
  body: { type: "string", default: "150" },
  connections: { type: "string", default: "64" },
  json: { type: "string" },
  svg: { type: "string" },
  check: { type: "boolean" },
  import: { type: "boolean" },
  list: { type: "boolean" },
  help: { type: "boolean" },
} as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof options }>>["values"];

function above(name: string, text: string, least: number): number {
  const value = Number(text);
  if (!(value >= least)) throw new UsageError(`--${name} is ${text}; a number from ${least} on is expected`);
  return value;
}

function sizeOf(text: string): number {
  const [, digits, thousands] = /^(\d+)(k?)$/.exec(text) ?? [];
  const bytes = Number(digits) * (thousands === "k" ? 1_000 : 1);
  if (!(bytes >= 100))
    throw new UsageError(`--body has ${text}; sizes of 100 or more are expected, such as 150 or 20k`);
  return bytes;
}

function chosen(only: string | undefined): Plan["servers"] {
  // The others are measured against it anyway.
  if (only === undefined) return servers.filter((server) => server !== bareServers[0]);
  const names = only.split(",");
  const unknown = names.find((name) => !servers.some((server) => server.name.startsWith(name)));
  if (unknown !== undefined) throw new UsageError(`--only has ${unknown}; --list prints the names of servers`);
  const exact = (name: string): boolean => servers.some((server) => server.name === name);
  return servers.filter((server) =>
    names.some((name) => (exact(name) ? server.name === name : server.name.startsWith(name))),
  );
}

export function readOptions(args: readonly string[]): Values & { readonly plan: Plan } {
  let values: Values;
  try {
    ({ values } = parseArgs({ args: [...args], options }));
  } catch (error) {
    throw new UsageError(`${String((error as Error).message)}\n\n${help}`);
  }
  const asked = values.mix.split(",").map((name) => mixes.find((mix) => mix === name));
  const plan = {
    servers: chosen(values.only),
    mixes: asked.filter((mix) => mix !== undefined),
    bodies: values.body.split(",").map(sizeOf),
    rounds: above("rounds", values.rounds, 1),
    seconds: above("seconds", values.seconds, 0.1),
    connections: above("connections", values.connections, 1),
    pinned: true,
  };
  if (asked.includes(undefined)) throw new UsageError(`--mix is ${values.mix}; of ${mixes.join(", ")}`);
  return { ...values, plan };
}
