/** Levels on Redis: a numbered database each, so that a sweep, which walks over all keys, meets those of its level alone. */
import { hash } from "node:crypto";
import { join } from "node:path";
import type { Redis } from "ioredis";
import { redisStore } from "ichido/redis";
import { namesFor } from "../../packages/ichido/src/stores/redis/names.ts";
import { encodeFirstClaim, encodeHead } from "../../packages/ichido/src/stores/redis/row.ts";
import { startRedis } from "../../scripts/services/redis.ts";
import { openRedis } from "../http/drivers.ts";
import { sampleHash, sampleScopeHash } from "../measure.ts";
import { keyIn, type Bed, type Place, type Purpose } from "./bed.ts";
import { shapes, type Level } from "./level.ts";
import { answer, expiredAgeMs, freshAgeMs, requestFor, retentionMs } from "./sample.ts";

const config: Readonly<Record<Purpose, Readonly<Record<string, string>>>> = {
  fill: { appendonly: "yes", appendfsync: "no", databases: "500" },
  measure: { appendonly: "yes", appendfsync: "everysec", databases: "500" },
};

/** Ten for every power of ten, a hundred for every shape. */
const databaseOf = ({ shape, rows }: Level): number => shapes.indexOf(shape) * 100 + Math.round(Math.log10(rows) * 10);

/** The store's default, after which Redis itself removes a key. */
const marginMs = 7 * 86_400_000;
const pipelined = 1_000;
const prefix = "ichido:";

/** What the scripts of claim and complete leave. */
function fieldsOf(key: string, us: number): Record<string, string | Buffer> {
  const request = requestFor(key);
  const at = String(us);
  return {
    s: "c",
    f: Buffer.concat([sampleHash, sampleHash]),
    o: hash("md5", key),
    t: at,
    n: "1",
    l: String(us + request.leaseMs * 1_000),
    e: String(us + retentionMs * 1_000),
    c: at,
    u: at,
    x: "0",
    i: encodeFirstClaim(request),
    r: encodeHead(answer),
    b: answer.body,
    z: String(answer.body.length),
  };
}

function openBed(client: Redis, level: Level): Bed {
  const names = namesFor(prefix, "");
  const nameOfKey = (key: string): string =>
    names.record({ key: requestFor(key).identity.key, scopeHash: sampleScopeHash });
  const store = redisStore(client, { prefix });
  return {
    level,
    store,
    async add(from, to, isExpired) {
      const ms = Date.now() - (isExpired ? expiredAgeMs : freshAgeMs);
      for (let at = from; at <= to; at += pipelined) {
        const pipeline = client.pipeline();
        for (let number = at; number < Math.min(at + pipelined, to + 1); number += 1) {
          const key = keyIn(level, number);
          pipeline.hset(nameOfKey(key), fieldsOf(key, ms * 1_000 + number));
          pipeline.pexpire(nameOfKey(key), retentionMs + marginMs);
        }
        for (const [error] of (await pipeline.exec()) ?? []) if (error !== null) throw error;
      }
    },
    async remove(keys) {
      for (let at = 0; at < keys.length; at += pipelined)
        await client.unlink(...keys.slice(at, at + pipelined).map(nameOfKey));
    },
    async likenessOf(key) {
      const fields = await client.hgetallBuffer(nameOfKey(key));
      if (Object.keys(fields).length === 0) return undefined;
      const lengths = Object.entries(fields).map(([name, value]) => [name, value.length] as const);
      const lives = (await client.pttl(nameOfKey(key))) > 0 ? 1 : 0;
      return {
        ...Object.fromEntries(lengths),
        "time to live": lives,
      };
    },
    async bytes() {
      return { all: Number(/used_memory:(\d+)/.exec(await client.info("memory"))?.[1]) };
    },
    async close() {
      await store.close();
      client.disconnect();
    },
  };
}

export async function redisPlace(folder: string, purpose: Purpose): Promise<Place> {
  const server = await startRedis({ folder: join(folder, "redis"), config: config[purpose] });
  const admin = await openRedis(server.url);
  const clientOf = (level: Level): Promise<Redis> => openRedis(`${server.url}/${databaseOf(level)}`);
  return {
    store: "redis",
    version: `Redis ${/redis_version:(\S+)/.exec(await admin.info("server"))?.[1] ?? ""}`,
    settings: "appendonly, fsync every second",
    async create(level) {
      const client = await clientOf(level);
      await client.flushdb();
      return openBed(client, level);
    },
    open: async (level) => openBed(await clientOf(level), level),
    async close() {
      admin.disconnect();
      await server.stop();
    },
  };
}
