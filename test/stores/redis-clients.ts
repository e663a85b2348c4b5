/** Clients of both drivers, on one server or a cluster, and a server whose clock is moved by hand. */
import { Cluster, Redis } from "ioredis";
import { createClient, createCluster } from "redis";
import type { RedisClient } from "ichido/redis";
import { statements } from "../../packages/ichido/src/stores/redis/statements.generated.ts";
import { createHash } from "node:crypto";

export interface OpenClient {
  readonly client: RedisClient;
  /** Commands of the test itself; the first argument after the name is the key, in a cluster. */
  send(command: string, ...args: (string | Buffer)[]): Promise<unknown>;
  end(): Promise<void>;
}

export const drivers = ["ioredis", "node-redis"] as const;
export type Driver = (typeof drivers)[number];

export interface IoredisOptions {
  readonly keyPrefix?: string;
  readonly socketTimeout?: number;
  readonly maxRetriesPerRequest?: number | null;
}

const ignore = (): void => undefined;

export async function openClient(driver: Driver, url: string, options: IoredisOptions = {}): Promise<OpenClient> {
  if (driver === "ioredis") {
    const client = new Redis(url, options);
    client.on("error", ignore);
    return {
      client,
      send: (command, ...args) => client.call(command, args),
      end: async () => client.disconnect(),
    };
  }
  const client = createClient({ url });
  client.on("error", ignore);
  await client.connect();
  return {
    client,
    send: (command, ...args) => client.sendCommand([command, ...args]),
    end: async () => client.destroy(),
  };
}

/** Never connected. The last one has the option on its nodes alone, which are asked by themselves now and then. */
export function pipeliningClients(): (Redis | Cluster)[] {
  const options = { lazyConnect: true, enableAutoPipelining: true };
  const nodes = [{ host: "127.0.0.1", port: 1 }];
  return [
    new Redis(options),
    new Cluster(nodes, options),
    new Cluster(nodes, { lazyConnect: true, redisOptions: { enableAutoPipelining: true } }),
  ];
}

export async function openCluster(driver: Driver, urls: readonly string[]): Promise<OpenClient> {
  if (driver === "ioredis") {
    const nodes = urls.map((url) => ({ host: new URL(url).hostname, port: Number(new URL(url).port) }));
    const client = new Cluster(nodes);
    client.on("error", ignore);
    return {
      client,
      send: (command, ...args) => client.call(command, args),
      end: async () => client.disconnect(),
    };
  }
  const client = createCluster({ rootNodes: urls.map((url) => ({ url })) });
  client.on("error", ignore);
  await client.connect();
  return {
    client,
    send: (command, ...args) => client.sendCommand(args[0], false, [command, ...args]),
    end: async () => client.destroy(),
  };
}

/** Removes every key that begins so, on the one server behind the client. */
export async function removeKeys(client: OpenClient, prefix: string): Promise<void> {
  let cursor = "0";
  do {
    const [next, keys] = (await client.send("SCAN", cursor, "MATCH", `${prefix}*`, "COUNT", "1000")) as [
      string,
      string[],
    ];
    if (keys.length > 0) await client.send("DEL", ...keys);
    cursor = next;
  } while (cursor !== "0");
}

/**
 * A client on which scripts see another time than the server has: what TIME would give is handed to them as two last
 * arguments. It creeps by a microsecond a call, as any clock does.
 */
export function withMovedClock(client: Redis, clock: { nowUs: number }): RedisClient {
  const texts = new Map(
    Object.values(statements).map((text) => [createHash("sha1").update(text).digest("hex"), text] as const),
  );
  const now = (): string[] => {
    clock.nowUs += 1;
    return [String(Math.floor(clock.nowUs / 1e6)), String(clock.nowUs % 1e6)];
  };
  return {
    options: {},
    call: (command, args) => client.call(command, args),
    duplicate: () => client.duplicate(),
    async callBuffer(command, [script = "", ...args]) {
      if (command === "time") return now();
      if (command !== "evalsha" && command !== "eval") return client.callBuffer(command, [script, ...args]);
      const text = texts.get(String(script)) ?? String(script);
      const moved = text.replaceAll("redis.call('TIME')", "moved_time");
      // Taken off the arguments: some scripts take as many as there are.
      const head = "local moved_time = { table.remove(ARGV, #ARGV - 1), table.remove(ARGV) }\n";
      return client.callBuffer("eval", [head + moved, ...args, ...now()]);
    },
  };
}
