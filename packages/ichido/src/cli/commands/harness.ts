/** `ichido harness <framework>`: a server to try `ichido conform` on, in the framework that is installed here. */
import { parseArgs } from "node:util";
import { harnessFrameworks, startHarness, type HarnessFramework } from "../../conform/harness/index.ts";
import { profiles, type ProfileName } from "../../core/contract/profiles.ts";
import { UsageError, type Command, type ExitCode, type Io } from "../command.ts";

const usage = `usage: ichido harness <framework> [options]

Starts a small server with ichido's adapter on which every case of ichido conform can be observed, and prints its description:

  ichido harness express > conform.json &
  ichido conform --config conform.json

Frameworks: ${harnessFrameworks.join(", ")}.
All but fetch and node must be installed where the command runs.
It listens on 127.0.0.1 alone, keeps everything in memory and ends with the process (Ctrl-C).

  --port <n>         of the server under test, default a free one
  --profile <name>   ietf (default), stripe, adr-007 or polling

Exit code: 0 ended by a signal, 1 the framework or the port cannot be had, 2 wrong usage.
`;

const options = { port: { type: "string" }, profile: { type: "string" } } as const;

function frameworkOf(name: string | undefined): HarnessFramework {
  const framework = harnessFrameworks.find((each) => each === name);
  if (framework !== undefined) return framework;
  throw new UsageError(`expected one of ${harnessFrameworks.join(", ")}, got ${name ?? "nothing"}`);
}

function portOf(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new UsageError(`--port: expected a number from 1 to 65535, got ${JSON.stringify(text)}`);
}

function profileOf(text: string): ProfileName {
  if (Object.hasOwn(profiles, text)) return text as ProfileName;
  throw new UsageError(`--profile: expected one of ${Object.keys(profiles).join(", ")}, got ${JSON.stringify(text)}`);
}

function signalled(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
}

async function run(args: readonly string[], io: Io): Promise<ExitCode> {
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  const framework = frameworkOf(positionals[0]);
  if (positionals.length > 1) throw new UsageError(`one framework is enough, got ${positionals.length}`);
  const end = signalled();
  const server = await startHarness(framework, {
    ...(values.port === undefined ? {} : { port: portOf(values.port) }),
    ...(values.profile === undefined ? {} : { profile: profileOf(values.profile) }),
  });
  io.out(`${JSON.stringify(server.description, undefined, 2)}\n`);
  io.err(`ichido harness: ${framework} listens on ${server.description.url}\n`);
  await end;
  await server.close();
  return 0;
}

export const harnessCommand: Command = {
  endsItself: true,
  summary: "start a server to try ichido conform on, in your framework",
  usage,
  run,
};
