/**
 * Ends what a test process started once that process is gone, however it ended: an `exit` handler does not run after
 * SIGKILL, and a test runner kills its workers that way. The reaper is a process of its own that holds the reading end
 * of a pipe; the pipe closes with its owner, and only then does the reaper act.
 */
import { spawn } from "node:child_process";
import { Socket } from "node:net";
import type { Writable } from "node:stream";

export interface Estate {
  /** Ended by `signal` (default SIGTERM), and by SIGKILL when it is still there after `graceMs`. */
  readonly pid?: number;
  readonly signal?: NodeJS.Signals;
  /** Removed with everything in it. */
  readonly folder?: string;
  /** A command to run, program first, after all processes have ended. */
  readonly run?: readonly string[];
}

export interface Will {
  /** What this names has already ended, or another process cares for it. */
  forget(): void;
}

const graceMs = 3_000;
const runMs = 15_000;

// Runs with `node --eval`, so that it works from source and from a compiled package alike.
const program = `
const { rmSync } = require("node:fs");
const { spawnSync } = require("node:child_process");
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) process.on(signal, () => {});
const wills = new Map();
let rest = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (text) => {
  const lines = (rest + text).split("\\n");
  rest = lines.pop();
  for (const line of lines) {
    const { id, estate } = JSON.parse(line);
    if (estate === undefined) wills.delete(id);
    else wills.set(id, estate);
  }
});
const alive = (pid) => { try { process.kill(pid, 0); return true; } catch { return false; } };
const send = (pid, signal) => { try { process.kill(pid, signal); } catch {} };
process.stdin.on("close", async () => {
  const estates = [...wills.values()].reverse();
  const pids = estates.flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
  for (const { pid, signal } of estates) if (pid !== undefined) { send(pid, signal ?? "SIGTERM"); send(pid, "SIGCONT"); }
  for (let waited = 0; waited < ${graceMs} && pids.some(alive); waited += 20) await new Promise((done) => setTimeout(done, 20));
  for (const pid of pids) send(pid, "SIGKILL");
  for (let waited = 0; waited < ${graceMs} && pids.some(alive); waited += 20) await new Promise((done) => setTimeout(done, 20));
  for (const { run } of estates) if (run !== undefined) spawnSync(run[0], run.slice(1), { stdio: "ignore", timeout: ${runMs} });
  for (const { folder } of estates) if (folder !== undefined) try { rmSync(folder, { recursive: true, force: true, maxRetries: 5 }); } catch {}
  process.exit(0);
});
`;

let pipe: Writable | undefined;
let lastId = 0;

function tell(message: object): void {
  if (pipe === undefined || pipe.destroyed) {
    // In a session of its own: a signal to the whole process group must not reach it before its owner is gone.
    const reaper = spawn(process.execPath, ["--eval", program], {
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
    });
    reaper.on("error", () => {});
    reaper.unref();
    pipe = reaper.stdin;
    pipe.on("error", () => {});
    if (pipe instanceof Socket) pipe.unref();
  }
  pipe.write(`${JSON.stringify(message)}\n`);
}

export function reapAfterDeath(estate: Estate): Will {
  lastId += 1;
  const id = lastId;
  tell({ id, estate });
  return { forget: () => tell({ id }) };
}
