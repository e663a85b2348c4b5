import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { giveToServer } from "./account.ts";
import { answersPostgres, handshakeMs } from "./handshakes.ts";
import { launch } from "./instance.ts";
import type { Instance, Recipe } from "./instance.ts";
import { postgresPrograms } from "./postgres-binaries.ts";
import { runAsServer } from "./run-program.ts";

export interface PostgresOptions {
  /**
   * Server settings. The defaults do not wait for the disk: a killed process loses nothing by that, only a power cut
   * does. Set `fsync: "on"` where the cost of a real commit is what you measure.
   */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** Added to the environment of the server. */
  readonly env?: Readonly<Record<string, string>>;
  /** Where its data are and stay, see Recipe. */
  readonly folder?: string;
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
  const { initdb } = postgresPrograms();
  return launch({
    ...recipe(options),
    folder: options.folder,
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
    ready: answersPostgres,
  });
}

/**
 * A standby that follows the given server, by a copy of its data; `through`: the port by which it reaches that server.
 * Ready when it answers, not when it has caught up. It serves as a primary once it was promoted.
 */
export async function startStandby(
  primary: Instance,
  options: PostgresOptions & { readonly through?: number; readonly name?: string } = {},
): Promise<Instance> {
  const { through = primary.port, name = "standby" } = options;
  const conninfo = `host=127.0.0.1 port=${through} user=postgres application_name=${name}`;
  return launch({
    ...recipe({ ...options, settings: { ...options.settings, primary_conninfo: conninfo } }),
    prepare: (folder) => copyData(primary, join(folder, "data")),
    ready: async (url) => (await ask(url, ["SELECT pg_is_in_recovery() AS value"])) === true,
  });
}

/** While it runs, as https://www.postgresql.org/docs/current/continuous-archiving.html tells: label, copy, stop. */
async function copyData({ url, folder }: Instance, data: string): Promise<void> {
  const copy = async (): Promise<void> => {
    // Files come and go meanwhile; what is missing is in the log that is streamed.
    await runAsServer("sh", ["-c", `cp -a "${join(folder, "data")}" "${data}" || true`], { folder: dirname(data) });
  };
  const label = await ask(
    url,
    ["SELECT pg_backup_start('standby', true)", copy],
    "SELECT labelfile AS value FROM pg_backup_stop(false)",
  );
  rmSync(join(data, "postmaster.pid"), { force: true });
  for (const [name, text] of [
    ["backup_label", String(label)],
    ["standby.signal", ""],
  ] as const) {
    writeFileSync(join(data, name), text);
    giveToServer(join(data, name));
  }
}

/** Statements and other work in their order, on one session; gives the value of the last statement. */
async function ask(
  url: string,
  first: readonly (string | (() => Promise<void>))[],
  ...last: readonly string[]
): Promise<unknown> {
  const { Client } = (await import("pg")).default;
  const client = new Client({ connectionString: url, connectionTimeoutMillis: handshakeMs });
  client.on("error", () => {});
  await client.connect();
  let value: unknown;
  try {
    for (const each of [...first, ...last]) {
      if (typeof each === "string") value = (await client.query<{ value: unknown }>(each)).rows[0]?.value;
      else await each();
    }
  } finally {
    await client.end().catch(() => {});
  }
  return value;
}

function recipe(options: PostgresOptions): Omit<Recipe, "prepare" | "ready"> {
  const { postgres } = postgresPrograms();
  const settings = Object.entries({ ...defaults, ...options.settings });
  return {
    name: "postgres",
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
    env: () => options.env ?? {},
    url: (port) => `postgres://postgres@127.0.0.1:${port}/postgres`,
    endSignal: "SIGQUIT",
    afterwards: removeSharedMemory,
  };
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
