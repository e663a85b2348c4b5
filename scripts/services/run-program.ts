import { spawn } from "node:child_process";
import { serverAccount } from "./account.ts";

const runMs = 120_000;

/** Runs a preparing program as the server's account and fails with what it printed. */
export async function runAsServer(
  program: string,
  args: readonly string[],
  options: { readonly folder: string; readonly env?: Readonly<Record<string, string>> },
): Promise<string> {
  const child = spawn(program, args, {
    cwd: options.folder,
    env: { PATH: process.env["PATH"], HOME: options.folder, LC_ALL: "C", ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: runMs,
    ...serverAccount(),
  });
  let printed = "";
  child.stdout.on("data", (text) => (printed += String(text)));
  child.stderr.on("data", (text) => (printed += String(text)));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new Error(`${program} ended with ${code}:\n${printed.slice(-2000)}`);
  return printed;
}
