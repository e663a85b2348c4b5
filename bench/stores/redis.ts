/**
 * The Redis store beside two hand-written minimums on the same client, in turns of one run:
 *
 *     node --conditions=ichido-source bench/stores/redis.ts [redis://127.0.0.1:6379] [seconds a turn]
 *
 * `same scripts`: what the store sends, by a bare EVALSHA with arguments made beforehand as far as possible, replies not
 * decoded. `lean script`: another protocol, one small script with a single hash, no steps, doubt or guarded expiry.
 * Read the ratios; the figures themselves are those of one machine on one day.
 */
import { createHash, randomBytes } from "node:crypto";
import { redisStore } from "ichido/redis";
import type { RedisClient, RedisStore } from "ichido/redis";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { statements } from "../../packages/ichido/src/stores/redis/statements.generated.ts";

const url = process.argv[2] ?? "redis://127.0.0.1:6379";
const turnMs = Number(process.argv[3] ?? 1.5) * 1_000;
const turns = 5;
const body = Buffer.from(JSON.stringify({ id: "pay_1", amount: 1_999, note: "x".repeat(400) }));
const scopeHash = createHash("sha256").update("bench").digest();
const hash = createHash("sha256").update("content").digest();
const headers = [["content-type", "application/json"]] as const;
const family = `ichido_bench_${randomBytes(4).toString("hex")}`;

interface Subject {
  readonly name: string;
  claimAndComplete(key: string): Promise<void>;
  replay(key: string): Promise<void>;
}

type Claiming = Parameters<RedisStore["claim"]>[0];
type Send = (...args: (string | Buffer)[]) => Promise<unknown>;

function viaStore(store: RedisStore): Subject {
  const response = { kind: "full" as const, status: 201, headers, body };
  const request = (key: string): Claiming => ({
    identity: { key: key as Claiming["identity"]["key"], scopeHash, tenant: "t", principal: "p", operation: "bench" },
    owner: randomBytes(16).toString("hex") as Claiming["owner"],
    fingerprint: { version: 1, raw: hash, canonical: hash },
    leaseMs: 30_000,
    retentionMs: 86_400_000,
    takeover: "lapsed" as const,
  });
  return {
    name: "ichido",
    async claimAndComplete(key) {
      const asked = request(key);
      const claim = await store.claim(asked);
      if (claim.outcome !== "granted") throw new Error(claim.outcome);
      const done = await store.complete({ ...asked, fence: claim.fence, response });
      if (done !== "ok") throw new Error(done);
    },
    async replay(key) {
      const claim = await store.claim(request(key));
      if (claim.outcome !== "completed") throw new Error(claim.outcome);
    },
  };
}

const digest = (text: string): string => createHash("sha1").update(text).digest("hex");

async function sameScripts(send: Send): Promise<Subject> {
  const [claim, complete] = [digest(statements.claim), digest(statements.complete)];
  for (const text of [statements.claim, statements.complete]) await send("SCRIPT", "LOAD", text);
  const scope = scopeHash.toString("base64url");
  const head = `full 201 ${JSON.stringify(headers)}`;
  const claimed = async (key: string, owner: string): Promise<unknown[]> => {
    const sight = JSON.stringify([key, scope, "t", "p", "bench", 1, []]);
    const name = `${family}:same:{${createHash("sha256").update(key).update(scopeHash).digest("base64url")}}`;
    const fixed = ["30000000", "86400000000", "lapsed", sight, "", "", "", "", "604800000"];
    return [name, await send("evalsha", claim, "1", name, owner, hash, hash, "", ...fixed)];
  };
  return {
    name: "same scripts",
    async claimAndComplete(key) {
      const owner = randomBytes(16).toString("hex");
      const [name, [told]] = (await claimed(key, owner)) as [string, [Buffer]];
      const [outcome, , fence = ""] = told.toString().split(" ");
      if (outcome !== "granted") throw new Error(outcome);
      const done = await send("evalsha", complete, "1", name, owner, fence, head, body, "604800000", `${name}:end`, "");
      if (done !== 1) throw new Error("stale");
    },
    async replay(key) {
      const [, [told]] = (await claimed(key, randomBytes(16).toString("hex"))) as [string, [Buffer]];
      if (!told.toString().startsWith("completed ")) throw new Error(told.toString());
    },
  };
}

const leanClaim = `local T=redis.call('TIME'); local now=T[1]*1000000+T[2]
local r=redis.call('HMGET',KEYS[1],'s','t','a','f','l','r','b'); local s=r[1]
if s then
  if r[4]~=ARGV[2] then return {'mismatch'} end
  if s=='2' then return {'replay',r[2],r[6],r[7]} end
  if s=='1' and r[3]~=ARGV[1] and tonumber(r[5])>now then return {'busy'} end
end
local t=now; if r[2] and tonumber(r[2])+1>t then t=tonumber(r[2])+1 end
local ts=string.format('%.0f',t)
redis.call('HSET',KEYS[1],'s','1','t',ts,'a',ARGV[1],'f',ARGV[2],'l',string.format('%.0f',now+ARGV[3]*1000))
if not s then redis.call('PEXPIRE',KEYS[1],ARGV[4]) end
return {'granted',ts}`;
const leanComplete = `local r=redis.call('HMGET',KEYS[1],'s','t','a')
if r[1]~='1' or r[2]~=ARGV[1] or r[3]~=ARGV[2] then return 0 end
redis.call('HSET',KEYS[1],'s','2','r',ARGV[3],'b',ARGV[4]) return 1`;

async function leanScript(send: Send): Promise<Subject> {
  for (const text of [leanClaim, leanComplete]) await send("SCRIPT", "LOAD", text);
  const head = JSON.stringify([201, headers]);
  const claim = (key: string, attempt: string): Promise<unknown> =>
    send("evalsha", digest(leanClaim), "1", `${family}:lean:${key}`, attempt, hash, "30000", "86400000");
  return {
    name: "lean script",
    async claimAndComplete(key) {
      const attempt = randomBytes(16).toString("hex");
      const reply = (await claim(key, attempt)) as [string, string];
      if (String(reply[0]) !== "granted") throw new Error(String(reply[0]));
      const name = `${family}:lean:${key}`;
      const fence = String(reply[1]);
      const done = await send("evalsha", digest(leanComplete), "1", name, fence, attempt, head, body);
      if (done !== 1) throw new Error("stale");
    },
    async replay(key) {
      const reply = (await claim(key, randomBytes(16).toString("hex"))) as [string];
      if (String(reply[0]) !== "replay") throw new Error(String(reply[0]));
    },
  };
}

/** Operations a second with so many under way at any time. */
async function turn(concurrent: number, operation: () => Promise<void>): Promise<number> {
  const start = performance.now();
  let count = 0;
  await Promise.all(
    Array.from({ length: concurrent }, async () => {
      while (performance.now() - start < turnMs) {
        await operation();
        count += 1;
      }
    }),
  );
  return (count * 1_000) / (performance.now() - start);
}

const median = (numbers: number[]): number => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
let keys = 0;
const newKey = (): string => `bench-${(keys += 1)}-${randomBytes(8).toString("hex")}`;

async function compare(driver: string, subjects: readonly Subject[]): Promise<void> {
  for (const concurrent of [1, 64]) {
    for (const what of ["claim + complete", "replay"] as const) {
      const rates = new Map<string, number[]>(subjects.map(({ name }) => [name, []]));
      for (let round = 0; round < turns; round += 1) {
        for (const subject of subjects) {
          const replayed = newKey();
          if (what === "replay") await subject.claimAndComplete(replayed);
          const operation =
            what === "replay" ? () => subject.replay(replayed) : () => subject.claimAndComplete(newKey());
          rates.get(subject.name)?.push(await turn(concurrent, operation));
        }
      }
      const [ours = 0, ...others] = subjects.map(({ name }) => median(rates.get(name) ?? []));
      const beside = others.map(
        (rate, at) => `${subjects[at + 1]?.name} ${rate.toFixed(0).padStart(6)}/s (ratio ${(ours / rate).toFixed(2)})`,
      );
      console.log(
        `${driver.padEnd(10)} ${what.padEnd(16)} ${String(concurrent).padStart(2)} concurrent: ` +
          `ichido ${ours.toFixed(0).padStart(6)}/s, ${beside.join(", ")}`,
      );
    }
  }
}

async function subjectsOf(client: RedisClient, send: Send): Promise<readonly Subject[]> {
  const store = redisStore(client, { prefix: `${family}:ichido:` });
  return [viaStore(store), await sameScripts(send), await leanScript(send)];
}

const first = new Redis(url);
try {
  const [version] = /redis_version:\S+/.exec(await first.info("server")) ?? [];
  console.log(`${version}, ${turns} turns of ${turnMs} ms each, medians`);
  await compare("ioredis", await subjectsOf(first, (command, ...args) => first.callBuffer(String(command), args)));
  const second = createClient({ url });
  await second.connect();
  await compare(
    "node-redis",
    await subjectsOf(second, (...args) => second.sendCommand(args, { typeMapping: { 36: Buffer } })),
  );
  second.destroy();
} finally {
  let cursor = "0";
  do {
    const [next, names] = await first.scan(cursor, "MATCH", `${family}:*`, "COUNT", 1_000);
    if (names.length > 0) await first.unlink(...names);
    cursor = next;
  } while (cursor !== "0");
  first.disconnect();
}
