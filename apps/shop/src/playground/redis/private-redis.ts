/** A Redis of the playground's own, where there is one on this machine: it may be filled and emptied without anybody's loss. */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { StartError } from "../../errors.ts";

export interface PrivateRedis {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

const PROGRAM = "redis-server";
const START_MS = 15_000;

export function findRedis(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => join(folder, PROGRAM)).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** `settings`: by their names in redis.conf. It keeps nothing on disk. */
export async function startPrivateRedis(
  folder: string,
  settings: Readonly<Record<string, string>>,
): Promise<PrivateRedis> {
  const program = findRedis();
  if (program === undefined) throw new StartError(`${PROGRAM} is not installed`);
  const port = String(await freePort());
  const all = { port, bind: "127.0.0.1", dir: folder, save: "", appendonly: "no", ...settings };
  const given = Object.entries(all).flatMap(([name, value]) => [`--${name}`, value]);
  const keeper = fork(fileURLToPath(new URL("keeper.ts", import.meta.url)), [program, ...given], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const pid = await ready(keeper);
  return { url: `redis://127.0.0.1:${port}`, pid, stop: () => end(keeper) };
}

async function ready(keeper: ChildProcess): Promise<number> {
  const limit = AbortSignal.timeout(START_MS);
  const told = once(keeper, "message", { signal: limit }).then(([message]) => (message as { pid: number }).pid);
  const ended = once(keeper, "exit", { signal: limit }).then(([code]) => {
    throw new StartError(`${PROGRAM} did not start (exit code ${String(code)})`);
  });
  // Whichever loses is rejected by the time limit.
  told.catch(() => undefined);
  ended.catch(() => undefined);
  try {
    return await Promise.race([told, ended]);
  } catch (error) {
    keeper.disconnect();
    throw error;
  }
}

async function freePort(): Promise<number> {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  listener.close();
  await once(listener, "close");
  return port;
}

async function end(keeper: ChildProcess): Promise<void> {
  if (keeper.exitCode !== null || keeper.signalCode !== null) return;
  const exited = once(keeper, "exit");
  if (keeper.connected) keeper.disconnect();
  await exited;
}
