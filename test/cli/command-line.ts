/** The command as a user runs it: a process with arguments, two streams and an exit code. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const bin = fileURLToPath(new URL("../../packages/ichido/src/cli/bin.ts", import.meta.url));

export function ichido(...args: readonly string[]): Promise<Ran> {
  return new Promise((resolve) => {
    const options = { maxBuffer: 16_777_216, timeout: 60_000, env: { ...process.env, NODE_OPTIONS: "" } };
    execFile(process.execPath, ["--conditions=ichido-source", bin, ...args], options, (error, out, err) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
      resolve({ code, out, err });
    });
  });
}
