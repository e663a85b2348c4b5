/** The command line: finds the command, and makes messages and exit codes from what it throws. */
import { readFileSync } from "node:fs";
import { nearestOf } from "../core/contract/nearest-name.ts";
import type { Command, ExitCode, Io } from "./command.ts";
import { commands, groups } from "./command-list.ts";
import { endingOf, exitCodes } from "./exit-codes.ts";
import { jsonVersion } from "./printer.ts";
import { jsonLine, visible } from "./visible-text.ts";

function version(): string {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { readonly version: string }).version;
}

async function overview(group?: string): Promise<string> {
  const names = Object.keys(commands).filter((name) => group === undefined || name.startsWith(`${group} `));
  const width = Math.max(...names.map((name) => name.length));
  const lines = await Promise.all(
    names.map(async (name) => `  ${name.padEnd(width)}  ${(await commands[name]?.())?.summary ?? ""}`),
  );
  return [
    `usage: ichido ${group === undefined ? "" : `${group} `}<command> [options]`,
    "",
    ...lines,
    "",
    "ichido <command> --help tells more about a command; ichido --version prints the version.",
    "Exit codes: 0 ok, 1 error, 2 wrong usage, 3 something was found, 4 not found, 5 refused, 6 unreachable, 130 interrupted.",
    "",
  ].join("\n");
}

/** One word, or two where the first is a group. */
function split(argv: readonly string[]): { readonly name: string; readonly args: readonly string[] } {
  const [first = "", second, ...rest] = argv;
  const isGroup = groups.includes(first) && second !== undefined && !second.startsWith("-");
  return isGroup ? { name: `${first} ${second}`, args: rest } : { name: first, args: argv.slice(1) };
}

function unknownCommand(name: string, io: Io): ExitCode {
  const nearest = nearestOf(name, Object.keys(commands));
  const advice = nearest === undefined ? "See ichido --help." : `Did you mean ${nearest}?`;
  io.err(`ichido: there is no command ${JSON.stringify(name)}. ${advice}\n`);
  return exitCodes.usage;
}

/** How long what was interrupted may take to close its connections. */
const endWithinMs = 3_000;

/** Ctrl-C ends a command, whatever it waits for. */
async function untilInterrupted(running: Promise<ExitCode>, command: Command, io: Io): Promise<ExitCode> {
  if (command.endsItself === true) return running;
  let wake: () => void = () => undefined;
  const interrupted = new Promise<ExitCode>((resolve) => {
    wake = () => void setTimeout(() => resolve(exitCodes.interrupted), endWithinMs).unref();
    io.signal.addEventListener("abort", wake, { once: true });
  });
  try {
    const code = await Promise.race([running, interrupted]);
    return io.signal.aborted ? exitCodes.interrupted : code;
  } finally {
    io.signal.removeEventListener("abort", wake);
  }
}

export async function main(argv: readonly string[], io: Io): Promise<ExitCode> {
  const [first, ...others] = argv;
  if (first === "--version" || first === "-v") {
    io.out(`${version()}\n`);
    return exitCodes.ok;
  }
  if (first === "help" && others[0] !== undefined) return main([...others, "--help"], io);
  if (first === "--help" || first === "-h" || first === "help") {
    io.out(await overview());
    return exitCodes.ok;
  }
  if (first === undefined) {
    io.err(await overview());
    return exitCodes.usage;
  }
  const { name, args } = split(argv);
  const wantsHelp = args.includes("--help") || args.includes("-h");
  if (groups.includes(name)) {
    (wantsHelp ? io.out : io.err)(await overview(name));
    return wantsHelp ? exitCodes.ok : exitCodes.usage;
  }
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (load === undefined) return unknownCommand(name, io);
  const command = await load();
  if (wantsHelp) {
    io.out(command.usage);
    return exitCodes.ok;
  }
  try {
    return await untilInterrupted(command.run(args, io), command, io);
  } catch (error) {
    if (io.signal.aborted) return exitCodes.interrupted;
    const { exitCode, code, message: told } = endingOf(error);
    // Drivers quote the address that they could not read, password and all.
    const message = told.replaceAll(/:\/\/[^\s/]*@/g, "://…@");
    if (args.includes("--json")) io.out(jsonLine({ v: jsonVersion, type: "error", code, exitCode, message }));
    const see = exitCode === exitCodes.usage ? `. See ichido ${name} --help.` : "";
    io.err(`ichido ${name}: ${visible(message).replace(/\.$/, see === "" ? "." : "")}${see}\n`);
    return exitCode;
  }
}
