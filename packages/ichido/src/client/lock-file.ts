/** A lock between processes: a file that exists while it is held. */
import { open, rm, stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { ClientError } from "./errors.ts";

/** A lock of this age was left by a process that died: the work under the lock takes milliseconds. */
export const lockStaleMs = 5_000;
const lockPollMs = 20;

interface Identity {
  readonly mark: string;
  readonly ageMs: number;
}

async function identityOf(path: string): Promise<Identity | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return undefined;
  const { ino, birthtimeMs, mtimeMs } = found;
  return { mark: `${ino}-${birthtimeMs}-${mtimeMs}`, ageMs: Date.now() - mtimeMs };
}

/** One that is gone is not stale. */
async function isStale(path: string): Promise<boolean> {
  return ((await identityOf(path))?.ageMs ?? 0) > lockStaleMs;
}

/** Another process may have removed it since it was looked at. */
function remove(path: string): Promise<void> {
  return rm(path, { force: true });
}

async function create(path: string): Promise<boolean> {
  try {
    await (await open(path, "wx", 0o600)).close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/**
 * Several processes may find the lock stale. Only one of them may remove it, and it checks again first: meanwhile
 * another process may have removed it, and a third may hold a fresh lock.
 */
async function removeStale(path: string): Promise<void> {
  const right = `${path}.stale`;
  if (!(await create(right))) {
    if (await isStale(right)) await remove(right);
    return;
  }
  try {
    if (await isStale(path)) await remove(path);
  } finally {
    await remove(right);
  }
}

/** Waits at most `waitMs`; gives the function that releases it. */
export async function takeLockFile(path: string, waitMs: number): Promise<() => Promise<void>> {
  const giveUpMs = performance.now() + waitMs;
  while (!(await create(path))) {
    if (await isStale(path)) await removeStale(path);
    else if (performance.now() > giveUpMs) {
      throw new ClientError("storage-failed", `${path} is held by another process; nothing was sent`);
    }
    await sleep(lockPollMs);
  }
  const own = await identityOf(path);
  return async () => {
    // After a long pause of this process another process may hold the lock by now.
    if ((await identityOf(path))?.mark === own?.mark) await remove(path);
  };
}
