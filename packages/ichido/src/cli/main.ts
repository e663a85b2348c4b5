/** The command line: finds the command, and makes messages and exit codes from what it throws. */
import { readFileSync } from "node:fs";
import { UsageError, type Command, type ExitCode, type Io } from "./command.ts";

/** A command is loaded when it runs: `ichido --version` must not load every store. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  conform: async () => (await import("./commands/conform.ts")).conformCommand,
  harness: async () => (await import("./commands/harness.ts")).harnessCommand,
};

function version(): string {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { readonly version: string }).version;
}

async function overview(): Promise<string> {
  const names = Object.keys(commands);
  const width = Math.max(...names.map((name) => name.length));
  const lines = await Promise.all(
    names.map(async (name) => `  ${name.padEnd(width)}  ${(await commands[name]?.())?.summary ?? ""}`),
  );
  return [
    "usage: ichido <command> [options]",
    "",
    ...lines,
    "",
    "ichido <command> --help tells more about a command; ichido --version prints the version.",
    "",
  ].join("\n");
}

/** `parseArgs` marks wrong options by an error code of its own. */
function isWrongUsage(error: unknown): error is Error {
  const { code } = error as { readonly code?: unknown };
  return error instanceof UsageError || (typeof code === "string" && code.startsWith("ERR_PARSE_ARGS_"));
}

export async function main(argv: readonly string[], io: Io): Promise<ExitCode> {
  const [name, ...args] = argv;
  if (name === "--version" || name === "-v") {
    io.out(`${version()}\n`);
    return 0;
  }
  if (name === "help" && args[0] !== undefined) return main([args[0], "--help"], io);
  if (name === "--help" || name === "-h" || name === "help") {
    io.out(await overview());
    return 0;
  }
  if (name === undefined) {
    io.err(await overview());
    return 2;
  }
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (load === undefined) {
    io.err(`ichido: there is no command ${JSON.stringify(name)}. See ichido --help.\n`);
    return 2;
  }
  const command = await load();
  if (args.includes("--help") || args.includes("-h")) {
    io.out(command.usage);
    return 0;
  }
  try {
    return await command.run(args, io);
  } catch (error) {
    if (isWrongUsage(error)) {
      io.err(`ichido ${name}: ${error.message}. See ichido ${name} --help.\n`);
      return 2;
    }
    io.err(`ichido ${name}: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}
