import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { answersPostgres } from "./handshakes.ts";
import { launch } from "./instance.ts";
import type { Instance } from "./instance.ts";
import { postgresPrograms } from "./postgres-binaries.ts";
import { runAsServer } from "./run-program.ts";

export interface PostgresOptions {
  /**
   * Server settings. The defaults do not wait for the disk: a killed process loses nothing by that, only a power cut
   * does. Set `fsync: "on"` where the cost of a real commit is what you measure.
   */
  readonly settings?: Readonly<Record<string, string | number>>;
}

const defaults: Readonly<Record<string, string | number>> = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  fsync: "off",
  full_page_writes: "off",
  max_connections: 200,
  shared_buffers: "64MB",
  // In files of the data directory, so that a killed server leaves nothing behind elsewhere.
  dynamic_shared_memory_type: "mmap",
  log_timezone: "UTC",
  timezone: "UTC",
};

export async function startPostgres(options: PostgresOptions = {}): Promise<Instance> {
  const { initdb, postgres } = postgresPrograms();
  const settings = Object.entries({ ...defaults, ...options.settings });
  return launch({
    name: "postgres",
    prepare: async (folder) => {
      const args = [
        "-D",
        join(folder, "data"),
        "-U",
        "postgres",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--locale=C",
        "--no-sync",
      ];
      await runAsServer(initdb, args, { folder });
    },
    command: (folder, port) => ({
      program: postgres,
      args: [
        "-D",
        join(folder, "data"),
        "-p",
        String(port),
        ...settings.flatMap(([name, value]) => ["-c", `${name}=${value}`]),
      ],
    }),
    url: (port) => `postgres://postgres@127.0.0.1:${port}/postgres`,
    ready: answersPostgres,
    endSignal: "SIGQUIT",
    afterwards: removeSharedMemory,
  });
}

/** After SIGKILL the small System V segment that guards the data directory stays; its id is in the seventh line. */
function removeSharedMemory(folder: string): void {
  try {
    const segment = readFileSync(join(folder, "data", "postmaster.pid"), "utf8")
      .split("\n")[6]
      ?.trim()
      .split(/\s+/)[1];
    if (segment !== undefined) spawnSync("ipcrm", ["-m", segment], { stdio: "ignore" });
  } catch {
    // A server that ended properly removed the file and the segment itself.
  }
}
