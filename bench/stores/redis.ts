/**
 * The Redis store beside two hand-written minimums on the same client, in turns of one run:
 *
 *     npm run bench -- stores/redis.ts [redis://127.0.0.1:6379] [seconds a turn]
 *
 * `same scripts`: what the store sends, by a bare EVALSHA with arguments made beforehand as far as possible; of a replay
 * it reads status, headers and body, as any user would. `short scripts`: the same fields written and the same answer read
 * back, by scripts without steps, doubt, takeover, waiters or guarded expiry. Both do what the store does per call: one
 * round trip and one hash.
 * Read the ratios; the figures themselves are those of one machine on one day.
 */
import { createHash, hash, randomBytes } from "node:crypto";
import { redisStore } from "ichido/redis";
import type { RedisClient } from "ichido/redis";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { statements } from "../../packages/ichido/src/stores/redis/statements.generated.ts";
import {
  compareStores,
  removeKeys,
  sampleBody,
  sampleHash,
  sampleScopeHash,
  storeSubject,
  type Subject,
} from "../measure.ts";

const url = process.argv[2] ?? "redis://127.0.0.1:6379";
const turnMs = Number(process.argv[3] ?? 1.5) * 1_000;
const headers = [["content-type", "application/json"]] as const;
const family = `ichido_bench_${randomBytes(4).toString("hex")}`;

type Send = (...args: (string | Buffer)[]) => Promise<unknown>;

const digest = (text: string): string => createHash("sha1").update(text).digest("hex");

const scope = sampleScopeHash.toString("base64url");
const head = `full 201 ${JSON.stringify(headers)}`;
const sightOf = (key: string): string => JSON.stringify([key, scope, "t", "p", "bench", 1, []]);
const recordName = (key: string): string =>
  hash("sha256", Buffer.concat([Buffer.from(key), sampleScopeHash]), "base64url");

/** What a replay is read for. */
function readAnswer(told: Buffer | undefined, body: Buffer | undefined): void {
  const [, status, lines] = /^\w+ (\d+) (.*)$/s.exec(String(told)) ?? [];
  const answer = { status: Number(status), headers: JSON.parse(lines ?? "") as unknown[], body };
  if (answer.status !== 201 || answer.headers.length !== 1 || body?.length !== sampleBody.length)
    throw new Error("another answer");
}

async function sameScripts(send: Send): Promise<Subject> {
  const [claim, complete] = [digest(statements.claim), digest(statements.complete)];
  for (const text of [statements.claim, statements.complete]) await send("SCRIPT", "LOAD", text);
  const claimed = (name: string, key: string, owner: string): Promise<unknown> => {
    const fixed = ["30000000", "86400000000", "lapsed", sightOf(key), "", "", "", "", "604800000"];
    return send("evalsha", claim, "1", name, owner, sampleHash, sampleHash, "", ...fixed);
  };
  const nameOf = (key: string): string => `${family}:same:{${recordName(key)}}`;
  return {
    name: "same scripts",
    async claimAndComplete(key) {
      const owner = randomBytes(16).toString("hex");
      const name = nameOf(key);
      const [told] = (await claimed(name, key, owner)) as [Buffer];
      const [outcome, , fence = ""] = told.toString().split(" ");
      if (outcome !== "granted") throw new Error(outcome);
      const answer = [head, sampleBody];
      const done = await send("evalsha", complete, "1", name, owner, fence, ...answer, "604800000", `${name}:end`, "");
      if (done !== 1) throw new Error("stale");
    },
    async replay(key) {
      const [told, ...answer] = (await claimed(nameOf(key), key, randomBytes(16).toString("hex"))) as Buffer[];
      if (told?.toString().startsWith("completed ") !== true) throw new Error(String(told));
      readAnswer(answer[0], answer[1]);
    },
  };
}

const shortClaim = `local T=redis.call('TIME'); local now=T[1]*1000000+T[2]
local r=redis.call('HMGET',KEYS[1],'s','t','o','f','l','r','b'); local s=r[1]
if s then
  if r[4]~=ARGV[2]..ARGV[3] then return {'mismatch'} end
  if s=='c' then return {'completed',r[2],r[6],r[7]} end
  if r[3]~=ARGV[1] and tonumber(r[5])>now then return {'busy'} end
end
local t=now; if r[2] and tonumber(r[2])+1>t then t=tonumber(r[2])+1 end
local ts,at=string.format('%.0f',t),string.format('%.0f',now)
redis.call('HSET',KEYS[1],'s','p','f',ARGV[2]..ARGV[3],'o',ARGV[1],'t',ts,'n','1','l',string.format('%.0f',now+ARGV[4]),
  'e',string.format('%.0f',now+ARGV[5]),'c',at,'u',at,'x','0','i',ARGV[6],'g',ts)
if not s then redis.call('PEXPIRE',KEYS[1],ARGV[7]) end
return {'granted',ts}`;
const shortComplete = `local r=redis.call('HMGET',KEYS[1],'s','t','o')
if r[1]~='p' or r[2]~=ARGV[1] or r[3]~=ARGV[2] then return 0 end
local T=redis.call('TIME')
redis.call('HSET',KEYS[1],'s','c','r',ARGV[3],'b',ARGV[4],'z',#ARGV[4],'u',string.format('%.0f',T[1]*1000000+T[2])) return 1`;

async function shortScripts(send: Send): Promise<Subject> {
  for (const text of [shortClaim, shortComplete]) await send("SCRIPT", "LOAD", text);
  const [claimDigest, completeDigest] = [digest(shortClaim), digest(shortComplete)];
  const nameOf = (key: string): string => `${family}:short:{${recordName(key)}}`;
  const claim = (name: string, key: string, owner: string): Promise<unknown> => {
    const times = ["30000000", "86400000000"];
    return send("evalsha", claimDigest, "1", name, owner, sampleHash, sampleHash, ...times, sightOf(key), "691200000");
  };
  return {
    name: "short scripts",
    async claimAndComplete(key) {
      const owner = randomBytes(16).toString("hex");
      const name = nameOf(key);
      const reply = (await claim(name, key, owner)) as [Buffer, Buffer];
      if (String(reply[0]) !== "granted") throw new Error(String(reply[0]));
      const done = await send("evalsha", completeDigest, "1", name, String(reply[1]), owner, head, sampleBody);
      if (done !== 1) throw new Error("stale");
    },
    async replay(key) {
      const reply = (await claim(nameOf(key), key, randomBytes(16).toString("hex"))) as Buffer[];
      if (String(reply[0]) !== "completed") throw new Error(String(reply[0]));
      readAnswer(reply[2], reply[3]);
    },
  };
}

async function subjectsOf(client: RedisClient, send: Send): Promise<readonly Subject[]> {
  const store = redisStore(client, { prefix: `${family}:ichido:` });
  return [storeSubject("ichido", store), await sameScripts(send), await shortScripts(send)];
}

const first = new Redis(url);
try {
  const [version] = /redis_version:\S+/.exec(await first.info("server")) ?? [];
  console.log(version);
  const onFirst = await subjectsOf(first, (command, ...args) => first.callBuffer(String(command), args));
  await compareStores({ title: "ioredis", subjects: onFirst, baseline: "same scripts", turnMs });
  const second = createClient({ url });
  await second.connect();
  const onSecond = await subjectsOf(second, (...args) => second.sendCommand(args, { typeMapping: { 36: Buffer } }));
  await compareStores({ title: "node-redis", subjects: onSecond, baseline: "same scripts", turnMs });
  second.destroy();
} finally {
  await removeKeys(first, `${family}:`);
  first.disconnect();
}
