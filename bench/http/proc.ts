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

/** A core for the server, one for the load, and those on which stores may run: all but the server's. */
export interface Cores {
  readonly server: string;
  readonly load: string;
  readonly stores: string;
}

/** Of the cores that this process may use. Undefined where there are fewer than two, or they cannot be known. */
export function coresOf(): Cores | undefined {
  try {
    const list = /Cpus_allowed_list:\s*(\S+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "";
    const all = list.split(",").flatMap((part) => {
      const [first = 0, last = first] = part.split("-").map(Number);
      return Array.from({ length: last - first + 1 }, (_, index) => String(first + index));
    });
    const [server, load] = all;
    return server === undefined || load === undefined ? undefined : { server, load, stores: all.slice(1).join(",") };
  } catch {
    return undefined;
  }
}
