/** A Redis with little memory, which others fill: with an evicting policy it drops keys of the lane, without one it refuses. */
import { diagnose } from "ichido/operations";
import { redisStore } from "ichido/redis";
import { createClient } from "redis";
import { KEYS_OF_LANE } from "../lane/keys.ts";
import { startPrivateRedis } from "./private-redis.ts";

export type Policy = "allkeys-lru" | "noeviction";

export interface SmallRedis {
  readonly url: string;
  readonly pid: number;
  /** Writes until no record of the lane is left, or Redis refuses to take more. */
  fill(this: void): Promise<void>;
  /** Removes what `fill` wrote. */
  makeRoom(this: void): Promise<void>;
  /** As Redis counts it. */
  evicted(this: void): Promise<number>;
  /** What `ichido doctor` says of its eviction. */
  doctor(this: void): Promise<readonly string[]>;
  stop(this: void): Promise<void>;
}

const MEMORY = "6mb";
const PIECE = "x".repeat(64 * 1024);
const FILLER = "others:";
const PIECES_MAX = 5_000;
/** As ichido names them: a digest in braces. */
const RECORDS = `${KEYS_OF_LANE}{${"?".repeat(43)}}`;

export async function startSmallRedis(folder: string, policy: Policy): Promise<SmallRedis> {
  const server = await startPrivateRedis(folder, { maxmemory: MEMORY, "maxmemory-policy": policy });
  const client = createClient({ url: server.url });
  client.on("error", () => undefined);
  try {
    await client.connect();
  } catch (error) {
    await server.stop();
    throw error;
  }
  return {
    url: server.url,
    pid: server.pid,
    async fill() {
      for (let piece = 0; piece < PIECES_MAX && (await client.keys(RECORDS)).length > 0; piece += 1) {
        const isFull = await client.set(`${FILLER}${piece}`, PIECE).then(() => false, isOutOfMemory);
        if (isFull) return;
      }
    },
    async makeRoom() {
      const written = await client.keys(`${FILLER}*`);
      if (written.length > 0) await client.del(written);
    },
    async evicted() {
      return Number(/evicted_keys:(\d+)/.exec(await client.info("stats"))?.[1] ?? 0);
    },
    async doctor() {
      const store = redisStore(client, { prefix: KEYS_OF_LANE, dangerouslyAllowEviction: true });
      const found = await diagnose({ ichido: { store } });
      return found
        .filter(({ code }) => code === "eviction")
        .map(({ code, severity, what, remedy }) => `${severity} ${code}: ${what}; ${remedy}`);
    },
    async stop() {
      client.destroy();
      await server.stop();
    },
  };
}

function isOutOfMemory(error: unknown): true {
  if ((error as Error).message.startsWith("OOM")) return true;
  throw error;
}
