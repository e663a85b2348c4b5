/** A server is often a family: PostgreSQL's backends are children of the postmaster and outlive its SIGKILL for a moment. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** The process and all its descendants, parents first. Only the process itself where there is no /proc. */
export function familyOf(pid: number): number[] {
  const children = new Map<number, number[]>();
  let entries: string[] = [];
  try {
    entries = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return [pid];
  }
  for (const name of entries) {
    try {
      // The command name is in parentheses and may hold anything; the parent is the second field after it.
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
      children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
    } catch {
      // Gone between the listing and the reading.
    }
  }
  const family = [pid];
  for (const member of family) family.push(...(children.get(member) ?? []));
  return family;
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  if (!existsSync("/proc/self/stat")) return true;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    if (stat.slice(stat.lastIndexOf(")") + 2)[0] !== "Z") return true;
    // The first thread of a dying process is a zombie while the others still hold its sockets.
    return readdirSync(`/proc/${pid}/task`).length > 1;
  } catch {
    return false;
  }
}

export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Already gone, which is what most callers want anyway.
  }
}

/** True when all are gone before the deadline. */
export async function gone(pids: readonly number[], withinMs: number): Promise<boolean> {
  const deadline = Date.now() + withinMs;
  while (pids.some(isAlive)) {
    if (Date.now() > deadline) return false;
    await sleep(10);
  }
  return true;
}
