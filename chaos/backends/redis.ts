/** A private Redis that writes every command down before it answers: a kill forgets nothing. */
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { startRedis } from "../../scripts/services/redis.ts";
import { isRow, policies } from "../policies.ts";
import type { Backend } from "./backend.ts";
import { shimmedServer } from "./shimmed-server.ts";

export async function run(url: string, command: string, ...args: readonly string[]): Promise<unknown> {
  const client = new Redis(url, { connectTimeout: 2_000, commandTimeout: 5_000, maxRetriesPerRequest: 1 });
  client.on("error", () => {});
  try {
    return await client.call(command, [...args]);
  } finally {
    client.disconnect();
  }
}

const untilMsMax = 60_000;

/** An error is a no: servers are away, or tell half of it, for a while. */
export async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const untilMs = performance.now() + untilMsMax;
  while (!(await isSo().catch(() => false))) {
    if (performance.now() > untilMs) throw new Error(`not within ${untilMsMax} ms: ${what}`);
    await sleep(20);
  }
}

export async function startRedisBackend(): Promise<Backend> {
  const shim = shimmedServer();
  const config = { appendonly: "yes", appendfsync: "always" };
  const server = await startRedis({ config, env: shim?.env ?? {} });
  return {
    url: server.url,
    line: { key: "ichido:{" },
    policies: policies.filter((policy) => !isRow(policy)),
    async restart() {
      await server.kill("SIGKILL");
      await server.restart();
    },
    async refused() {
      const errors = String(await run(server.url, "INFO", "errorstats"));
      return Number(/^errorstat_OOM:count=(\d+)/m.exec(errors)?.[1] ?? 0);
    },
    full: async (on) => void (await run(server.url, "CONFIG", "SET", "maxmemory", on ? "1" : "0")),
    ...(shim === undefined ? {} : { leap: (ms: number) => shim.leap(ms) }),
    async stop() {
      await server.stop();
      shim?.remove();
    },
  };
}
