/** Runs a program of the test in a process of its own, which the test can kill at the worst moment. */
import { knownOptions } from "../core/contract/option-checks.ts";
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { ChildOutput } from "./child-output.ts";
import { reapAfterDeath } from "./reaper.ts";

export interface SpawnChildOptions {
  readonly args?: readonly string[];
  /** Added to the environment of this process; `undefined` removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Options of Node itself. The child always gets the `--conditions` of this process. */
  readonly execArgv?: readonly string[];
  /** The child counts as started when it prints a matching line. Default: when it is spawned. */
  readonly readyPattern?: RegExp;
  readonly readyMs?: number;
  /** Called with every line that it prints, on both streams, however many. */
  readonly onLine?: (line: string) => void;
}

export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Child {
  readonly pid: number;
  /** What it printed on both streams, oldest first, at most the last 10,000 lines. */
  readonly lines: readonly string[];
  readonly exit: ChildExit | undefined;
  readonly exited: Promise<ChildExit>;
  /** Resolves with the first matching line, past or future; rejects when the child ends or the time is up before. */
  waitFor(pattern: RegExp, timeoutMs?: number): Promise<RegExpExecArray>;
  /** A line for its standard input. */
  write(line: string): void;
  /** Sends the signal and waits for the end. Default SIGKILL: no handler runs, no buffer is flushed. */
  kill(signal?: NodeJS.Signals): Promise<ChildExit>;
  /** Pauses the process (SIGSTOP), as a long garbage collection or a frozen machine does. */
  pause(): void;
  resume(): void;
  /** SIGTERM, and SIGKILL when it does not end by itself within `graceMs` (default 5 s). */
  stop(graceMs?: number): Promise<ChildExit>;
  [Symbol.asyncDispose](): Promise<void>;
}

const defaultMs = 15_000;
const stopMs = 5_000;

/** Starts a JavaScript or TypeScript file on this Node. The child ends with this process, however that ends. */
export async function spawnChild(entry: string | URL, options: SpawnChildOptions = {}): Promise<Child> {
  const names = {
    args: true,
    env: true,
    cwd: true,
    execArgv: true,
    readyPattern: true,
    readyMs: true,
    onLine: true,
  } as const;
  knownOptions("spawnChild", options, names);
  const file = entry instanceof URL || entry.startsWith("file:") ? fileURLToPath(entry) : entry;
  const env = Object.fromEntries(
    Object.entries({ ...process.env, ...options.env }).filter(([, value]) => value !== undefined),
  );
  const execArgv = options.execArgv ?? ["--disable-warning=ExperimentalWarning"];
  const process_ = spawn(process.execPath, [...ownConditions(), ...execArgv, file, ...(options.args ?? [])], {
    cwd: options.cwd,
    env,
    stdio: ["pipe", "pipe", "pipe"],
  });
  const { pid } = process_;
  const output = new ChildOutput(options.onLine);
  let exit: ChildExit | undefined;
  output.read(process_.stdout);
  output.read(process_.stderr);
  process_.stdin.on("error", () => {});
  const exited = new Promise<ChildExit>((resolve) => {
    process_.on("error", (error) => output.lines.push(String(error)));
    // `close`, not `exit`: the last lines are still on their way when the process has ended.
    process_.on("close", (code, signal) => {
      exit = { code, signal };
      will.forget();
      output.end(signal ?? `code ${code}`);
      resolve(exit);
    });
  });
  const will = reapAfterDeath(pid === undefined ? {} : { pid, signal: "SIGKILL" });
  if (pid === undefined) throw new Error(`${file} could not be started: ${output.lines.join("\n")}`);

  const child: Child = {
    pid,
    lines: output.lines,
    get exit() {
      return exit;
    },
    exited,
    waitFor: (pattern, timeoutMs = defaultMs) => output.waitFor(pattern, timeoutMs),
    write(line) {
      process_.stdin.write(`${line}\n`);
    },
    async kill(signal = "SIGKILL") {
      process_.kill(signal);
      return exited;
    },
    pause: () => void process_.kill("SIGSTOP"),
    resume: () => void process_.kill("SIGCONT"),
    async stop(graceMs = stopMs) {
      if (exit !== undefined) return exit;
      process_.kill("SIGTERM");
      process_.kill("SIGCONT");
      const late = setTimeout(() => process_.kill("SIGKILL"), graceMs);
      const result = await exited;
      clearTimeout(late);
      return result;
    },
    async [Symbol.asyncDispose]() {
      await child.stop();
    },
  };
  if (options.readyPattern !== undefined) {
    try {
      await child.waitFor(options.readyPattern, options.readyMs ?? defaultMs);
    } catch (error) {
      await child.kill("SIGKILL");
      throw error;
    }
  }
  return child;
}

/** So that the child resolves packages as this process does. */
function ownConditions(): string[] {
  const found: string[] = [];
  process.execArgv.forEach((argument, index) => {
    const value = /^(?:--conditions|-C)(?:=(.+))?$/.exec(argument);
    if (value === null) return;
    const condition = value[1] ?? process.execArgv[index + 1];
    if (condition !== undefined) found.push(`--conditions=${condition}`);
  });
  return found;
}
