/** Where, when, with what and how a run was made. */
import { readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { availableParallelism, cpus, loadavg, platform, release } from "node:os";
import { pinned } from "./child.ts";

const frameworksAndDrivers = ["express", "fastify", "hono", "@hono/node-server", "pg", "mysql2", "ioredis"];
const peers = ["@node-idempotency/core", "express-idempotency", "idempotency-backend"];

export interface Surroundings {
  readonly date: string;
  readonly machine: string;
  readonly pinned: boolean;
  /** Of the minute before: above a tenth of the cores, somebody else was at work. */
  readonly loadBefore: number;
  readonly node: string;
  readonly libraries: Readonly<Record<string, string>>;
  readonly command: string;
}

function versionOf(name: string): string {
  const file = findPackageJSON(name, import.meta.url);
  if (file === undefined) return "absent";
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

export function surroundings(script = "bench:http"): Surroundings {
  return {
    date: new Date().toISOString().slice(0, 10),
    machine: `${cpus()[0]?.model ?? "unknown processor"}, ${availableParallelism()} cores, ${platform()} ${release()}`,
    pinned,
    loadBefore: loadavg()[0] ?? 0,
    node: process.version,
    libraries: Object.fromEntries([...frameworksAndDrivers, ...peers].map((name) => [name, versionOf(name)])),
    command: [`npm run ${script}`, ...(process.argv.length > 2 ? ["--", ...process.argv.slice(2)] : [])].join(" "),
  };
}

export function described(around: Surroundings): string {
  const list = Object.entries(around.libraries).map(([name, version]) => `${name} ${version}`);
  return [
    `${around.date}, ${around.command}`,
    `${around.machine}; load average before ${around.loadBefore.toFixed(1)}`,
    around.pinned
      ? "server and load generator pinned to a core each, private stores to any but the server's"
      : "processes are not pinned to cores",
    `Node ${around.node}, ${list.join(", ")}`,
  ].join("\n");
}
