/** A program of this benchmark in its own process, pinned to a core where that can be had. */
import { execFileSync, fork, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { familyOf } from "../../scripts/services/process-tree.ts";
import { coresOf } from "./proc.ts";

const taskset = ["/usr/bin/taskset", "/bin/taskset"].find((path) => existsSync(path));
const cores = taskset === undefined ? undefined : coresOf();
const startMsMax = 60_000;
export const pinned = cores !== undefined;

const nodeFlags = ["--conditions=ichido-source", "--disable-warning=ExperimentalWarning", "--expose-gc"];

/** The server has its core for itself: a store's server that may run there takes turns with it. */
export function keepStoreOff(pid: number): void {
  if (cores === undefined || taskset === undefined) return;
  for (const member of familyOf(pid)) {
    try {
      execFileSync(taskset, ["-acp", cores.stores, String(member)], { stdio: "ignore" });
    } catch {
      // Gone meanwhile. Those that it has yet to start go where it may go itself.
    }
  }
}

interface Told {
  readonly value?: unknown;
  readonly error?: string;
}

export class Child {
  readonly name: string;
  readonly #process: ChildProcess;

  private constructor(name: string, child: ChildProcess) {
    this.name = name;
    this.#process = child;
  }

  /** Starts the program, on one of two cores or on any, and waits for its first word. */
  static async start(
    file: string,
    args: readonly string[],
    core: "server" | "load" | "any",
  ): Promise<[Child, unknown]> {
    const path = fileURLToPath(new URL(file, import.meta.url));
    const flags = [...nodeFlags, ...(process.env["BENCH_NODE_FLAGS"]?.split(" ") ?? [])];
    const pin =
      cores === undefined || core === "any"
        ? {}
        : { execPath: taskset, execArgv: ["-c", cores[core], process.execPath, ...flags] };
    const child = fork(path, [...args], {
      execArgv: flags,
      ...pin,
      env: { ...process.env, NODE_ENV: "production" },
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    const started = new Child([file, ...args].join(" "), child);
    const late = setTimeout(() => child.kill(), startMsMax);
    return [started, await started.#next().finally(() => clearTimeout(late))];
  }

  /** Known once the program has spoken: taskset has become it by then. */
  get pid(): number {
    return this.#process.pid ?? 0;
  }

  ask(what: object | string): Promise<unknown> {
    const told = this.#next();
    this.#process.send(what);
    return told;
  }

  #next(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const gone = (code: number | null): void => reject(new Error(`${this.name} ended with ${code}`));
      this.#process.once("exit", gone);
      this.#process.once("message", ({ value, error }: Told) => {
        this.#process.off("exit", gone);
        if (error === undefined) resolve(value);
        else reject(new Error(`${this.name}: ${error}`));
      });
    });
  }

  end(): void {
    this.#process.removeAllListeners("exit");
    if (this.#process.connected) this.#process.disconnect();
  }
}
