import { hash } from "node:crypto";
import { openRedis } from "../drivers.ts";
import { leaseMs, retentionMs, type Claim, type Kept, type MinimumStore } from "./minimum.ts";

/** A lease that lapses takes its key with it. */
const completeLua = `if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
redis.call("set", KEYS[1], ARGV[2], "PX", ARGV[3])
return 1`;
const contentLength = 43;

const held = ({ content, owner }: Claim): string => `${content}${owner}`;

export async function openRedisMinimum(url: string): Promise<MinimumStore> {
  const client = await openRedis(url);
  const script = hash("sha1", completeLua);
  await client.script("LOAD", completeLua);
  return {
    async claim(claim) {
      const found = await client.setBuffer(claim.id, held(claim), "PX", leaseMs, "NX", "GET");
      if (found === null) return undefined;
      const content = found.toString("latin1", 0, contentLength);
      const end = found.indexOf("\n");
      if (end === -1) return { content };
      const [status, headers] = JSON.parse(found.toString("utf8", contentLength, end)) as [number, Kept["headers"]];
      return { content, kept: { status, headers, body: found.subarray(end + 1) } };
    },
    async complete(claim, { status, headers, body }) {
      const value = Buffer.concat([Buffer.from(`${claim.content}${JSON.stringify([status, headers])}\n`), body]);
      return (await client.evalsha(script, 1, claim.id, held(claim), value, retentionMs)) === 1;
    },
  };
}
