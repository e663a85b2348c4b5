/**
 * Adds missing servers on Debian as root, without starting any: `npm run services:install`, and the test command when it
 * needs one. Changes nothing else on the machine, and nothing at all with ICHIDO_NO_INSTALL=1.
 */
import { spawn } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { reapAfterDeath } from "../../packages/ichido/src/testing/reaper.ts";
import { isRoot } from "./account.ts";
import { findBrowser, findProgram } from "./binaries.ts";
import { postgresPrograms } from "./postgres-binaries.ts";

/** Servers, and the tools that some tests use. */
export const serviceNames = [
  "postgres",
  "mariadb",
  "redis",
  "pgbouncer",
  "nats",
  "rabbitmq",
  "compiler",
  "curl",
  "spin",
  "promtool",
  "browser",
] as const;
export type ServiceName = (typeof serviceNames)[number];

const packages: Readonly<Record<ServiceName, readonly string[]>> = {
  postgres: ["postgresql"],
  mariadb: ["mariadb-server"],
  redis: ["redis-server"],
  pgbouncer: ["pgbouncer"],
  nats: ["nats-server"],
  rabbitmq: ["rabbitmq-server"],
  compiler: ["gcc", "libc6-dev"],
  curl: ["curl"],
  // What it writes is C, and it reads its models through gcc.
  spin: ["spin", "gcc", "libc6-dev"],
  promtool: ["prometheus"],
  browser: ["chromium-headless-shell"],
};

const policy = "/usr/sbin/policy-rc.d";
const aptMs = 600_000;

function hasPostgres(): boolean {
  try {
    postgresPrograms();
    return true;
  } catch {
    return false;
  }
}

const has = (...programs: readonly string[]): boolean => programs.every((name) => findProgram(name) !== undefined);

const installed: Readonly<Record<ServiceName, () => boolean>> = {
  postgres: hasPostgres,
  mariadb: () => has("mariadbd", "mariadb-install-db"),
  redis: () => has("redis-server", "redis-cli"),
  pgbouncer: () => has("pgbouncer"),
  nats: () => has("nats-server"),
  rabbitmq: () => has("rabbitmq-server", "epmd"),
  compiler: () => has("cc"),
  curl: () => has("curl"),
  spin: () => has("spin", "gcc"),
  promtool: () => has("promtool"),
  browser: () => findBrowser() !== undefined,
};

export function isInstalled(service: ServiceName): boolean {
  return installed[service]();
}

/** Why nothing can be installed here; nothing when it can. */
export function installRefusal(): string | undefined {
  if (process.env["ICHIDO_NO_INSTALL"] === "1") return "ICHIDO_NO_INSTALL=1";
  if (findProgram("apt-get") === undefined) return "this is not a Debian system";
  if (!isRoot()) return "only root may install";
  return undefined;
}

/** Installs what is missing of the given services; answers what was added. Throws when it cannot. */
export async function install(services: readonly ServiceName[], say: (line: string) => void): Promise<ServiceName[]> {
  const missing = services.filter((service) => !isInstalled(service));
  if (missing.length === 0) return [];
  const refusal = installRefusal();
  if (refusal !== undefined) throw new Error(`${missing.join(", ")} not installed, and ${refusal}`);
  say(`installing ${missing.join(", ")} with apt-get (ICHIDO_NO_INSTALL=1 turns this off)`);
  await withoutStartingServices(async () => {
    await apt(["update", "-q"]);
    await apt(["install", "-q", "-y", "--no-install-recommends", ...missing.flatMap((service) => packages[service])]);
  });
  const still = missing.filter((service) => !isInstalled(service));
  if (still.length > 0) throw new Error(`apt-get succeeded, yet ${still.join(", ")} cannot be found`);
  return missing;
}

/** Debian packages start their service unless this file says no. One that is already there is the owner's decision. */
async function withoutStartingServices(work: () => Promise<void>): Promise<void> {
  if (existsSync(policy)) return work();
  const will = reapAfterDeath({ folder: policy });
  writeFileSync(policy, "#!/bin/sh\nexit 101\n", { mode: 0o755, flag: "wx" });
  try {
    await work();
  } finally {
    rmSync(policy, { force: true });
    will.forget();
  }
}

async function apt(args: readonly string[]): Promise<void> {
  const child = spawn("apt-get", ["-o", "DPkg::Lock::Timeout=300", "-o", "Dpkg::Use-Pty=0", ...args], {
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: aptMs,
  });
  let printed = "";
  child.stdout.on("data", (text) => (printed += String(text)));
  child.stderr.on("data", (text) => (printed += String(text)));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new Error(`apt-get ${args[0]} ended with ${code}:\n${printed.slice(-2000)}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    const added = await install(serviceNames, (line) => console.log(line));
    console.log(
      added.length === 0 ? "everything is already installed" : `installed ${added.join(", ")}; none was started`,
    );
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
