/** What a command is, and what it may touch: data goes to `out`, everything else to `err`. */
import { parseArgs } from "node:util";
import { nearestOf } from "../core/contract/nearest-name.ts";
import { UsageError, type ExitCode } from "./exit-codes.ts";
import { openProject, type Project } from "./project.ts";
import { createPrinter, type Printer } from "./printer.ts";

export { UsageError, type ExitCode } from "./exit-codes.ts";

export interface Io {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  /** Where data is read by a person: how wide the terminal is now. */
  readonly columns?: () => number;
  /** Where `err` is read by a person: progress may be drawn there. */
  readonly drawsProgress: boolean;
  /** Where a person can answer. */
  readonly ask?: (question: string) => Promise<string>;
}

export interface Command {
  /** One line, for the list of commands. */
  readonly summary: string;
  readonly usage: string;
  /** It runs until it is interrupted, and ends by itself then. */
  readonly endsItself?: true;
  run(args: readonly string[], io: Io): Promise<ExitCode>;
}

export interface Flag {
  readonly type: "string" | "boolean";
  readonly multiple?: true;
  /** What stands for its value in the usage. */
  readonly value?: string;
  readonly says: string;
}

export type Flags = Readonly<Record<string, Flag>>;

export type FlagValues<Given extends Flags> = {
  readonly [Name in keyof Given]?: Given[Name] extends { readonly multiple: true }
    ? readonly string[]
    : Given[Name]["type"] extends "boolean"
      ? boolean
      : string;
};

/** One call of a command. */
export interface Call<Given extends Flags> {
  readonly flags: FlagValues<Given>;
  readonly args: readonly string[];
  readonly io: Io;
  readonly print: Printer;
  /** The project's own engine, or the store that was named. Closed when the command ends. `create`: a file may be made. */
  readonly open: (options?: { readonly create: boolean }) => Promise<Project>;
}

export interface CommandSpec<Given extends Flags> {
  readonly name: string;
  readonly summary: string;
  /** What follows the name in the usage, such as `<key>`. */
  readonly args?: string;
  /** How many arguments it takes at most. Default 0. */
  readonly argsMax?: number;
  readonly about: string;
  readonly flags: Given;
  readonly examples: readonly (readonly [line: string, says: string])[];
  /** What its exit codes mean beyond the usual. */
  readonly exits?: string;
  run(call: Call<Given>): Promise<ExitCode>;
}

export const jsonFlag = {
  json: { type: "boolean", says: "one JSON object per line, with a version in its member v" },
} as const satisfies Flags;

function flagLines(flags: Flags): string {
  const heads = Object.entries(flags).map(
    ([name, { value, type, says, multiple }]) =>
      [
        `--${name}${type === "boolean" ? "" : ` <${value ?? "text"}>`}`,
        says + (multiple === true ? "; may be repeated" : ""),
      ] as const,
  );
  const width = Math.max(...heads.map(([head]) => head.length));
  return heads.map(([head, says]) => `  ${head.padEnd(width)}  ${says}`).join("\n");
}

function usageOf({ name, args, about, flags, examples, exits }: CommandSpec<Flags>): string {
  const shown = examples.map(([line, says]) => `  ${line}\n      ${says}`).join("\n");
  return [
    `usage: ichido ${name}${args === undefined ? "" : ` ${args}`} [options]`,
    about.trim(),
    flagLines(flags),
    `Examples:\n${shown}`,
    ...(exits === undefined ? [] : [`Exit code: ${exits}`]),
    "",
  ]
    .join("\n\n")
    .replace(/\n+$/, "\n");
}

function readFlags<Given extends Flags>(spec: CommandSpec<Given>, args: readonly string[]) {
  const known = Object.keys(spec.flags);
  for (const each of args) {
    if (each === "--") break;
    const [, name] = /^--([^=]+)/.exec(each) ?? [];
    if (name === undefined || known.includes(name)) continue;
    const nearest = nearestOf(name, known);
    throw new UsageError(`there is no option --${name}${nearest === undefined ? "" : `; did you mean --${nearest}?`}`);
  }
  const read = parseArgs({ args: [...args], options: { ...spec.flags }, allowPositionals: true, strict: true });
  const max = spec.argsMax ?? 0;
  if (read.positionals.length > max) {
    const took = max === 0 ? "it takes no arguments" : `it takes at most ${max} argument${max === 1 ? "" : "s"}`;
    throw new UsageError(`${took}, got ${read.positionals.length}`);
  }
  return { flags: read.values as FlagValues<Given>, args: read.positionals };
}

export function defineCommand<const Given extends Flags>(spec: CommandSpec<Given>): Command {
  return {
    summary: spec.summary,
    usage: usageOf(spec),
    async run(given, io) {
      const { flags, args } = readFlags(spec, given);
      const print = createPrinter(io, { json: (flags as FlagValues<typeof jsonFlag>).json === true });
      let project: Promise<Project> | undefined;
      const open: Call<Given>["open"] = (options) => (project ??= openProject(flags, io, options?.create));
      try {
        return await spec.run({ flags, args, io, print, open });
      } finally {
        print.end();
        // A project that could not be opened has nothing to close.
        await project?.then((opened) => opened.close()).catch(() => undefined);
      }
    },
  };
}
