/** A program of the test's own in a process of its own, to be killed at the worst moment. */
import { knownOptions } from "../core/contract/option-checks.ts";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { reapAfterDeath } from "./reaper.ts";

export interface SpawnChildOptions {
  readonly args?: readonly string[];
  /** Added to the environment of this process; `undefined` removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Options of Node itself. The `--conditions` of this process are passed on without being asked for. */
  readonly execArgv?: readonly string[];
  /** The child counts as started when it prints a matching line. Default: when it is spawned. */
  readonly readyPattern?: RegExp;
  readonly readyMs?: number;
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
  /** Stops it in its tracks (SIGSTOP), as a long garbage collection or a frozen machine does. */
  pause(): void;
  resume(): void;
  /** SIGTERM, and SIGKILL when it does not end by itself within `graceMs` (default 5 s). */
  stop(graceMs?: number): Promise<ChildExit>;
  [Symbol.asyncDispose](): Promise<void>;
}

const linesMax = 10_000;
const defaultMs = 15_000;
const stopMs = 5_000;

/** Starts a JavaScript or TypeScript file on this Node. The child ends with this process, however that ends. */
export async function spawnChild(entry: string | URL, options: SpawnChildOptions = {}): Promise<Child> {
  const names = { args: true, env: true, cwd: true, execArgv: true, readyPattern: true, readyMs: true } as const;
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
  const lines: string[] = [];
  const watchers = new Set<() => void>();
  let exit: ChildExit | undefined;
  const changed = (): void => {
    for (const watcher of watchers) watcher();
  };
  const listen = (stream: Readable): void => {
    createInterface({ input: stream }).on("line", (line) => {
      lines.push(line);
      if (lines.length > linesMax) lines.shift();
      changed();
    });
  };
  listen(process_.stdout);
  listen(process_.stderr);
  process_.stdin.on("error", () => {});
  const exited = new Promise<ChildExit>((resolve) => {
    process_.on("error", (error) => lines.push(String(error)));
    // `close`, not `exit`: the last lines are still on their way when the process has ended.
    process_.on("close", (code, signal) => {
      exit = { code, signal };
      will.forget();
      changed();
      resolve(exit);
    });
  });
  const will = reapAfterDeath(pid === undefined ? {} : { pid, signal: "SIGKILL" });
  if (pid === undefined) throw new Error(`${file} could not be started: ${lines.join("\n")}`);

  const child: Child = {
    pid,
    lines,
    get exit() {
      return exit;
    },
    exited,
    waitFor(pattern, timeoutMs = defaultMs) {
      const flat = new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ""));
      let seen = 0;
      return new Promise((resolve, reject) => {
        const done = (settle: () => void): void => {
          watchers.delete(look);
          clearTimeout(timer);
          settle();
        };
        const tail = (): string => lines.slice(-20).join("\n");
        const look = (): void => {
          for (; seen < lines.length; seen += 1) {
            const match = flat.exec(lines[seen] ?? "");
            if (match !== null) return done(() => resolve(match));
          }
          // The buffer dropped old lines: what is new is at its end.
          seen = Math.min(seen, linesMax - 1);
          if (exit === undefined) return;
          const how = exit.signal ?? `code ${exit.code}`;
          done(() => reject(new Error(`the child ended (${how}) before it printed ${String(pattern)}:\n${tail()}`)));
        };
        const timer = setTimeout(
          () => done(() => reject(new Error(`no line matched ${String(pattern)} within ${timeoutMs} ms:\n${tail()}`))),
          timeoutMs,
        );
        watchers.add(look);
        look();
      });
    },
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
