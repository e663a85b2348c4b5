import cluster from "node:cluster";
import { warnUser } from "../../core/contract/runtime.ts";

/** Signs that this process is one of several that would each have a memory of their own. */
function severalProcesses(): string | undefined {
  if (cluster.isWorker) return "a cluster worker";
  if (process.env["pm_id"] !== undefined || process.env["NODE_APP_INSTANCE"] !== undefined) return "a process of PM2";
  return undefined;
}

let warned = false;

/** Called at the first tick of an engine: a store may be made where there is no process to look at. */
export function warnUnlessAlone(): void {
  const sign = severalProcesses();
  if (sign === undefined || warned) return;
  warned = true;
  warnUser(
    `memoryStore runs in ${sign}: other processes cannot see its keys, so a retry that reaches another process runs ` +
      "again. Use a shared store (ichido/postgres, ichido/mysql, ichido/redis, ichido/sqlite) when there is more than one process.",
    "ICHIDO_MEMORY_STORE_NOT_SHARED",
  );
}
