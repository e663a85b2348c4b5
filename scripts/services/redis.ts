import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { requireProgram } from "./binaries.ts";
import { answersRedis } from "./handshakes.ts";
import { freePort, launch } from "./instance.ts";
import type { Instance } from "./instance.ts";

const run = promisify(execFile);
const clusterMs = 30_000;

export interface RedisOptions {
  /** Server settings by their names in redis.conf (`maxmemory-policy`, `appendonly`, …). */
  readonly config?: Readonly<Record<string, string | number>>;
  /** Added to the environment of the server. */
  readonly env?: Readonly<Record<string, string>>;
  /** Where its data are and stay, see Recipe. */
  readonly folder?: string;
}

export async function startRedis(options: RedisOptions = {}): Promise<Instance> {
  const server = requireProgram("redis", "redis-server");
  const config: Readonly<Record<string, string | number>> = { save: "", appendonly: "no", ...options.config };
  const settings = Object.entries(config);
  return launch({
    name: "redis",
    folder: options.folder,
    command: (folder, port) => ({
      program: server,
      args: [
        "--port",
        String(port),
        "--bind",
        "127.0.0.1",
        "--dir",
        folder,
        ...settings.flatMap(([name, value]) => [`--${name}`, String(value)]),
      ],
    }),
    env: () => options.env ?? {},
    url: (port) => `redis://127.0.0.1:${port}`,
    ready: answersRedis,
  });
}

export interface RedisCluster {
  /** Any node leads to all. */
  readonly url: string;
  readonly urls: readonly string[];
  /** Three masters with a replica each, in no promised order: ask `CLUSTER NODES`. */
  readonly nodes: readonly Instance[];
  stop(): Promise<void>;
}

/** Six nodes on loopback: three masters and their replicas. */
export async function startRedisCluster(
  options: RedisOptions & { readonly nodeTimeoutMs?: number } = {},
): Promise<RedisCluster> {
  const client = requireProgram("redis", "redis-cli");
  const nodes: Instance[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.stop()));
  };
  try {
    for (let count = 0; count < 6; count += 1) {
      // The default bus port is the port plus 10000, which may lie beyond the last port there is.
      const busPort = await freePort();
      const config = {
        "cluster-enabled": "yes",
        "cluster-node-timeout": options.nodeTimeoutMs ?? 2_000,
        "cluster-port": busPort,
        ...options.config,
      };
      nodes.push(await startRedis({ config }));
    }
    const addresses = nodes.map((node) => `127.0.0.1:${node.port}`);
    await run(client, ["--cluster", "create", ...addresses, "--cluster-replicas", "1", "--cluster-yes"], {
      timeout: clusterMs,
    });
    await formed(client, nodes);
  } catch (error) {
    await stop();
    throw error;
  }
  const urls = nodes.map((node) => node.url);
  return { url: urls[0] ?? "", urls, nodes, stop };
}

/** `--cluster create` returns while nodes still learn of each other: until all agree, a command may be refused. */
async function formed(client: string, nodes: readonly Instance[]): Promise<void> {
  const deadline = Date.now() + clusterMs;
  for (const node of nodes) {
    for (;;) {
      const { stdout } = await run(client, ["-p", String(node.port), "cluster", "info"]);
      if (stdout.includes("cluster_state:ok") && stdout.includes("cluster_known_nodes:6")) break;
      if (Date.now() > deadline) throw new Error(`the cluster did not form within ${clusterMs} ms:\n${stdout}`);
      await sleep(50);
    }
  }
}
