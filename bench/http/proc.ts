/** CPU time of processes and threads, from Linux; undefined where there is no /proc. */
import { readdirSync, readFileSync } from "node:fs";
import { familyOf } from "../../scripts/services/process-tree.ts";

function threadsNs(pid: number): Map<number, number> | undefined {
  try {
    const threads = readdirSync(`/proc/${pid}/task`).map(Number);
    // The first field is the time on a CPU, in nanoseconds.
    return new Map(
      threads.map((id) => [id, Number.parseInt(readFileSync(`/proc/${pid}/task/${id}/schedstat`, "utf8"), 10)]),
    );
  } catch {
    return undefined;
  }
}

const sum = (values: Iterable<number>): number => [...values].reduce((all, each) => all + each, 0);

/** Of all threads but the first, where JavaScript runs: collection, compilation, file system. */
export function helperThreadsUs(pid: number): number | undefined {
  const threads = threadsNs(pid);
  threads?.delete(pid);
  return threads === undefined ? undefined : sum(threads.values()) / 1_000;
}

/** Of a server and its children. */
export function familyUs(pid: number): number | undefined {
  const all = familyOf(pid).map(threadsNs);
  if (all[0] === undefined) return undefined;
  return sum(all.map((threads) => sum(threads?.values() ?? []))) / 1_000;
}

/** Two cores that this process may use: one for the server, one for the load. Undefined where they cannot be had. */
export function twoCores(): readonly [string, string] | undefined {
  try {
    const list = /Cpus_allowed_list:\s*(\S+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "";
    const cores = list.split(",").flatMap((part) => {
      const [first = 0, last = first] = part.split("-").map(Number);
      return Array.from({ length: Math.min(2, last - first + 1) }, (_, index) => String(first + index));
    });
    const [one, two] = cores;
    return one === undefined || two === undefined ? undefined : [one, two];
  } catch {
    return undefined;
  }
}
