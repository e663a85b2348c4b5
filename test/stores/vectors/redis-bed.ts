/** Redis with a clock that stands, and records laid into its hashes. */
import { createHash } from "node:crypto";
import { Redis } from "ioredis";
import type { OwnerToken } from "ichido";
import { redisStore, type RedisClient } from "ichido/redis";
import { originKept } from "../../../packages/ichido/src/core/record-machine/record.ts";
import { isNeeded } from "../../../packages/ichido/src/core/record-machine/view.ts";
import { namesFor } from "../../../packages/ichido/src/stores/redis/names.ts";
import { decodeResponse, encodeHead, encodeFirstClaim } from "../../../packages/ichido/src/stores/redis/row.ts";
import { statements } from "../../../packages/ichido/src/stores/redis/statements.generated.ts";
import { removeKeys } from "../redis-clients.ts";
import { nobody } from "../../../packages/ichido/src/core/record-machine/bounds.ts";
import { forgetRefusal } from "../../../packages/ichido/src/core/record-machine/forget.ts";
import { sampleIdentity } from "ichido/testing";
import { arrangements, nowUs } from "./cases.ts";
import type { Bed, Lying, Placed } from "./check.ts";

const dayMs = "86400000";
const states = { processing: "p", completed: "c", failed: "f" } as const;
// Both parts count.
const time = [String(nowUs / 1e6 - 1), "1000000"] as const;

/** Scripts are edited as told, and always see the same time. */
export async function redisBed(url: string, family: string, edit = (lua: string): string => lua): Promise<Bed> {
  const redis = new Redis(url);
  redis.on("error", () => undefined);
  const digests = new Map<string, string>();
  for (const text of Object.values(statements)) {
    const standing = edit(text).replaceAll("redis.call('TIME')", `{ '${time[0]}', '${time[1]}' }`);
    const loaded = (await redis.call("script", ["load", standing])) as string;
    digests.set(createHash("sha1").update(text).digest("hex"), loaded);
  }
  const client: RedisClient = {
    options: {},
    call: (command, args) => redis.call(command, args),
    duplicate: () => redis.duplicate(),
    async callBuffer(command, [script = "", ...args]) {
      if (command === "time") return [...time];
      return redis.callBuffer(command, [command === "evalsha" ? (digests.get(String(script)) ?? "") : script, ...args]);
    },
  };
  const admin = { client, send: (command: string, ...args: (string | Buffer)[]) => redis.call(command, args) };
  const empty = (): Promise<void> => removeKeys({ ...admin, end: async () => undefined }, family);
  let lives = 0;
  let prefix = family;
  const namesThere = async (): Promise<readonly string[]> => {
    const names: string[] = [];
    for await (const page of redis.scanStream({ match: `${prefix}{*`, count: 5_000 })) {
      names.push(...(page as string[]).filter((name) => name.length === prefix.length + 45));
    }
    return names.toSorted();
  };
  const bed: Bed = {
    damages: Object.keys(damages),
    async rows() {
      const pipeline = redis.pipeline();
      for (const name of await namesThere()) pipeline.hgetallBuffer(name);
      return ((await pipeline.exec()) ?? []).map(([, reply]) => reply);
    },
    async arrange(placed, tick) {
      await empty();
      lives += 1;
      prefix = `${family}${lives}:`;
      const names = namesFor(prefix, "");
      const pipeline = redis.pipeline();
      for (const each of placed) {
        const name = names.record(each.identity);
        pipeline.hset(name, ...damaged(fieldsOf(each), each.damage));
        if (!isNeeded(each.record)) pipeline.pexpire(name, dayMs);
      }
      if (tick !== undefined) {
        const { lastUs, intervalUs, steadySinceUs } = tick;
        pipeline.hset(names.clock, "last", lastUs, "interval", intervalUs, "steady", steadySinceUs);
      }
      await pipeline.exec();
      return redisStore(client, { prefix, callTimeoutMs: 30_000 });
    },
    async lying() {
      const found = new Map<string, Lying>();
      const names = await namesThere();
      const pipeline = redis.pipeline();
      for (const name of names) pipeline.hgetallBuffer(name).pttl(name);
      const replies = ((await pipeline.exec()) ?? []).map(([, reply]) => reply);
      for (const index of names.keys()) {
        const fields = replies[2 * index] as Record<string, Buffer>;
        found.set(keyOf(fields), lyingOf(fields, Number(replies[2 * index + 1])));
      }
      return found;
    },
    async sweepEach(placed, tick) {
      if (tick === undefined) return;
      const digest = createHash("sha1").update(statements.sweep).digest("hex");
      const known = [tick.lastUs, tick.intervalUs, tick.steadySinceUs].map(String);
      const names = namesFor(prefix, "");
      await Promise.all(
        placed.map(({ identity }) => client.callBuffer("evalsha", [digest, "1", names.record(identity), ...known])),
      );
    },
    async forgetEach() {
      const held = arrangements(["past"], ["none"]).flatMap(({ title, record }, at) =>
        record === undefined ? [] : [{ title, record, identity: sampleIdentity(`forget-${at}`) }],
      );
      const found: string[] = [];
      const digest = createHash("sha1").update(statements.forget).digest("hex");
      for (const notes of [0, 1]) {
        await bed.arrange(held, undefined);
        const names = namesFor(prefix, "");
        for (const [at, { title, identity, record }] of held.entries()) {
          const looked = record.fence + (at % 3 === 1 ? 1 : 0);
          const told = [String(looked), String(notes), "[]", "tombstone 410 []", nobody, "0"];
          const args = [...told, `call ${at} ${notes}`, "[]", "[]"];
          const reply = await client.callBuffer("evalsha", [digest, "1", names.record(identity), ...args]);
          const wanted =
            forgetRefusal(record, { fence: looked }, nowUs) === undefined && notes === 0 ? "ok" : "changed";
          if (String(reply) !== wanted) found.push(`${title}: ${String(reply)}, not ${wanted}`);
        }
      }
      return found;
    },
    async close() {
      await empty();
      redis.disconnect();
    },
  };
  return bed;
}

type Field = string | Buffer;

/** A row of which little is left, that says nothing known, or of which bytes are missing. */
const damages: Readonly<Record<string, (row: Map<Field, Field>) => unknown>> = {
  "no state": (row) => row.delete("s"),
  "an unknown state": (row) => row.set("s", "q"),
  "no hashes": (row) => row.delete("f"),
  ...Object.fromEntries([32, 63, 65, 80, 95, 97].map((length) => [`hashes of ${length} bytes`, hashesOf(length)])),
  "a body of another length": (row) => row.set("z", "7"),
  "no body": (row) => [row.delete("b"), row.set("z", "7")],
  ...Object.fromEntries(["s", "f", "o", "t", "n", "l", "e", "c"].map((name) => [`nothing but ${name}`, alone(name)])),
};

function hashesOf(length: number): (row: Map<Field, Field>) => unknown {
  return (row) => row.set("f", Buffer.concat([Buffer.from(row.get("f") ?? ""), Buffer.alloc(97)]).subarray(0, length));
}

function alone(name: string): (row: Map<Field, Field>) => unknown {
  return (row) => [...row.keys()].filter((each) => each !== name).map((each) => row.delete(each));
}

function damaged(fields: readonly Field[], damage: string | undefined): Field[] {
  if (damage === undefined) return [...fields];
  const row = new Map<Field, Field>();
  for (let at = 0; at < fields.length; at += 2) row.set(fields[at] ?? "", fields[at + 1] ?? "");
  damages[damage]?.(row);
  return [...row].flat();
}

function fieldsOf({ identity, record }: Placed): (string | Buffer)[] {
  const { raw, canonical, former } = record.fingerprint;
  const print = Buffer.concat([raw, canonical, ...(former === undefined ? [] : [former])] as Uint8Array[]);
  const sight = encodeFirstClaim({ identity, fingerprint: { version: 1 } } as never);
  const fields: (string | Buffer)[] = ["s", states[record.state], "o", record.owner, "t", String(record.fence)];
  fields.push("n", String(record.attempts), "l", String(record.leaseUs), "c", String(record.createdUs));
  fields.push("u", String(record.updatedUs), "e", String(record.expiresUs), "x", String(record.stepsStarted));
  fields.push("f", print, "i", sight);
  // As a first claim leaves it, and as older releases left it after others.
  if (record.origin === "failed") fields.push("a", record.origin);
  if (record.doubtStays) fields.push("d", "1");
  if (record.holdReason !== undefined) fields.push("h", record.holdReason);
  const answer = record.response ?? record.interim;
  if (answer !== undefined) {
    fields.push("r", encodeHead(answer), "b", Buffer.from(answer.body), "z", String(answer.body.length));
  }
  for (const [index, step] of record.steps.entries()) {
    const place = String(index + 1);
    fields.push(`N${step.name}`, place, `S${place}`, `${step.attempt} ${step.startedUs} ${step.name}`);
    fields.push(`L${place}`, String(step.lastStartedUs));
    if (step.finishedUs !== undefined) fields.push(`F${place}`, String(step.finishedUs));
    if (step.result !== undefined) fields.push(`R${place}`, Buffer.from(step.result));
  }
  return fields;
}

function keyOf(fields: Readonly<Record<string, Buffer>>): string {
  const [key] = JSON.parse(String(fields["i"])) as [string];
  return key;
}

function lyingOf(fields: Readonly<Record<string, Buffer>>, leftMs: number): Lying {
  const text = (name: string): string => String(fields[name]);
  const state = text("s") === "p" ? "processing" : text("s") === "c" ? "completed" : "failed";
  // One whose length is told otherwise is damaged to whoever claims it.
  const isWhole = fields["r"] !== undefined && Number(text("z")) === fields["b"]?.length;
  const answer = isWhole ? decodeResponse(fields["r"], fields["b"]) : undefined;
  const print = fields["f"] ?? Buffer.alloc(0);
  return {
    state,
    owner: text("o") as OwnerToken,
    origin: originKept(fields["a"] && text("a"), Number(text("n"))),
    fence: Number(text("t")),
    attempts: Number(text("n")),
    doubtStays: fields["d"] !== undefined && text("d") === "1",
    leaseUs: state === "processing" ? Number(text("l")) : 0,
    hasSteps: Number(text("x")) > 0,
    holdReason: fields["h"] === undefined ? undefined : text("h"),
    interim: state === "processing" ? answer : undefined,
    response: state === "completed" ? answer : undefined,
    createdUs: Number(text("c")),
    updatedUs: Number(text("u")),
    expiresUs: Number(text("e")),
    fingerprint: {
      raw: print.subarray(0, 32),
      canonical: print.subarray(32, 64),
      former: print.length > 64 ? print.subarray(64) : undefined,
    },
    mayGo: leftMs >= 0,
  };
}
