/**
 * Programs of the shop as real processes. What a test starts is ended with the test, what `beforeAll` starts with the
 * file, and all of it when the test process itself is killed.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeEach } from "vitest";
import { reapAfterDeath } from "../../../../packages/ichido/src/testing/reaper.ts";

export const repository = join(dirname(fileURLToPath(import.meta.url)), "../../../..");

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Program {
  readonly pid: number;
  /** Lines of stdout so far, and stderr as one text. */
  readonly output: { readonly lines: readonly string[]; readonly errors: () => string };
  readonly exited: Promise<Exit>;
  kill(signal: NodeJS.Signals): void;
  /** The rest of the first line of stdout that begins with `prefix`. */
  line(prefix: string): Promise<string>;
}

export type Settings = Readonly<Record<string, string>>;

const READY_MS = 30_000;

/** What is to be ended together: with the test that runs, or, when none runs yet, with the suite. */
class Belongings {
  readonly children = new Set<ChildProcess>();
  readonly folders = new Set<string>();

  async discard(): Promise<void> {
    for (const child of this.children) killGroup(child.pid);
    for (const child of this.children) {
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    }
    this.children.clear();
    await Promise.all([...this.folders].map((folder) => rm(folder, { recursive: true, force: true, maxRetries: 10 })));
    this.folders.clear();
  }
}

const ofTest = new Belongings();
const ofSuite = new Belongings();
let current = ofSuite;

beforeEach(() => {
  current = ofTest;
});
afterEach(async () => {
  current = ofSuite;
  await ofTest.discard();
});
afterAll(() => ofSuite.discard());

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "ichido-shop-"));
  current.folders.add(folder);
  reapAfterDeath({ folder });
  return folder;
}

export function startProgram(command: readonly string[], settings: Settings): Program {
  const [file = "", ...rest] = command;
  const child = spawn(file, rest, {
    cwd: repository,
    // Nothing of the surrounding environment but what a process needs, so that a stray PORT does not reach it.
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      ...settings,
    },
    stdio: ["ignore", "pipe", "pipe"],
    // A process group of its own, so that nothing it started can be left behind.
    detached: true,
  });
  current.children.add(child);
  const { pid } = child;
  if (pid === undefined) throw new Error(`${file} could not be started`);
  const will = reapAfterDeath({ pid: -pid, signal: "SIGKILL" });
  // `close`, not `exit`: the last lines are still on their way when the process has ended.
  const exited = once(child, "close").then(([code, signal]): Exit => {
    will.forget();
    return { code: code as number | null, signal: signal as NodeJS.Signals | null };
  });

  const lines: string[] = [];
  let partial = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const parts = (partial + text).split("\n");
    partial = parts.pop() ?? "";
    lines.push(...parts);
    child.emit("lines");
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });

  return {
    pid,
    output: { lines, errors: () => errors },
    exited,
    kill: (signal) => void child.kill(signal),
    line: async (prefix) => {
      const limit = AbortSignal.timeout(READY_MS);
      for (;;) {
        const found = lines.find((each) => each.startsWith(prefix));
        if (found !== undefined) return found.slice(prefix.length).trim();
        if (child.exitCode !== null || child.signalCode !== null || limit.aborted)
          throw new Error(`no line "${prefix}"; stderr: ${errors}`);
        await Promise.race([once(child, "lines", { signal: limit }), exited]).catch(() => undefined);
      }
    },
  };
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // The group is gone already.
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
