/**
 * Where the protected lane would charge twice, too: each limit is run as it is, on a lane of its own with the settings that
 * break it, and once more with what mends it. The bank's ledger tells both.
 */
import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { memoryStorage } from "ichido/client";
import { pay, type Cart } from "./buyer.ts";
import { limitNames, type Charge, type Charged, type LimitName, type LimitOffer } from "./contract.ts";
import { RUN_HEADER, startFaultProxy, type FaultProxy } from "./fault-proxy.ts";
import { startLaneProcess, type LaneProcess } from "./lane-process.ts";
import type { World } from "./playground.ts";
import { chargedOf, setBankMode } from "./runs.ts";
import { findRedis } from "./redis/private-redis.ts";
import { startSmallRedis, type Policy, type SmallRedis } from "./redis/small-redis.ts";

const NEEDS_REDIS =
  "There is no redis-server on this machine, and a Redis of somebody else must not be filled. Install one, and start the shop anew.";

export function limitsOffered(): readonly LimitOffer[] {
  const isMissing = findRedis() === undefined;
  return limitNames.map((limit) => ({
    limit,
    ...(limit === "redis-evicts" && isMissing ? { unavailable: NEEDS_REDIS } : {}),
  }));
}

export interface LimitRun {
  readonly charges: readonly Charge[];
  readonly charged: Charged;
  /** What the last caller was told. */
  readonly told: string;
  readonly run: string;
  /** Where keys were in Redis: what it dropped, as it counts that, and what `ichido doctor` says of it. */
  readonly redis?: { readonly evicted: number; readonly doctor: readonly string[] };
}

export interface LimitView {
  readonly limit: LimitName;
  readonly broken: LimitRun;
  readonly mended: LimitRun;
}

interface Stage {
  readonly world: World;
  readonly child: LaneProcess;
  readonly proxy: FaultProxy;
  readonly folder: string;
  readonly cart: Cart;
  readonly redis: SmallRedis | undefined;
}

interface Limit {
  /** Variables of the lane's environment, as it is and mended. */
  readonly broken: Readonly<Record<string, string>>;
  readonly mended: Readonly<Record<string, string>>;
  readonly bankMode: "normal" | "ignore-references";
  /** Keys are in a Redis of its own: its policies. */
  readonly redis?: { readonly broken: Policy; readonly mended: Policy };
  /** Gives what the buyer was told. */
  play(this: void, stage: Stage, isMended: boolean): Promise<string>;
}

const RETENTION_MS = 1_000;
const PATIENCE_MS = 20_000;

const limits: Readonly<Record<LimitName, Limit>> = {
  "bank-cannot-be-asked": {
    broken: { LANE_ON_UNKNOWN: "rerun" },
    mended: { LANE_ON_UNKNOWN: "hold" },
    bankMode: "ignore-references",
    async play({ child, cart, proxy }) {
      await child.killAt("after-charge");
      const key = randomUUID();
      await post(proxy, cart, key).catch(() => undefined);
      // The lane must be back, and the lease of its former life lapse.
      for (const deadline = Date.now() + PATIENCE_MS; ;) {
        const answer = await post(proxy, cart, key).catch(() => "lost");
        if (!/in-flight|lost/.test(answer) || Date.now() > deadline) return answer;
        await sleep(250);
      }
    },
  },
  "key-per-click": {
    broken: {},
    mended: {},
    bankMode: "normal",
    async play({ cart, proxy }, isMended) {
      const shared = memoryStorage();
      const click = () => pay("protected", cart, { baseUrl: proxy.url, storage: isMended ? shared : memoryStorage() });
      const said = await Promise.all([click(), click()]);
      return said.map(({ status, replayed }) => `${status}${replayed ? " replayed" : ""}`).join(", ");
    },
  },
  "short-retention": {
    broken: { LANE_RETENTION_MS: String(RETENTION_MS) },
    mended: {},
    bankMode: "ignore-references",
    async play({ cart, proxy }) {
      const key = randomUUID();
      await post(proxy, cart, key);
      await sleep(RETENTION_MS + 500);
      return post(proxy, cart, key);
    },
  },
  "run-without-store": {
    broken: { LANE_KEYS_APART: "yes", LANE_WITHOUT_STORE: "run" },
    mended: { LANE_KEYS_APART: "yes" },
    bankMode: "normal",
    async play({ cart, proxy, folder }) {
      const key = randomUUID();
      // As a store that does not answer: another process has locked its file.
      const lock = new DatabaseSync(join(folder, "keys.sqlite"));
      lock.exec("BEGIN EXCLUSIVE");
      const both = Promise.all([0, 1].map(() => post(proxy, cart, key).catch(() => "lost")));
      await Promise.race([both, sleep(PATIENCE_MS)]);
      lock.exec("ROLLBACK");
      lock.close();
      const [, last = ""] = await both;
      // Whoever was refused asks again, now that the store answers.
      return last.startsWith("201") ? last : post(proxy, cart, key);
    },
  },
  "redis-evicts": {
    broken: { LANE_EVICTION: "allow" },
    mended: {},
    redis: { broken: "allkeys-lru", mended: "noeviction" },
    bankMode: "ignore-references",
    async play({ cart, proxy, redis }) {
      const key = randomUUID();
      await post(proxy, cart, key);
      await redis?.fill();
      const told = await post(proxy, cart, key);
      if (told.startsWith("201")) return told;
      // A Redis that is full refuses. Whoever was refused asks again, when there is room.
      await redis?.makeRoom();
      return `${told}, ${await post(proxy, cart, key)}`;
    },
  },
};

/** One request with this key, without retries. */
async function post(proxy: FaultProxy, { run, ...order }: Cart, key: string): Promise<string> {
  const response = await fetch(`${proxy.url}/payments`, {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": key, [RUN_HEADER]: run },
    body: JSON.stringify(order),
  });
  const { code } = (await response.json()) as { readonly code?: string };
  const replayed = response.headers.get("idempotency-replayed") === "true" ? " replayed" : "";
  return `${response.status}${code === undefined ? "" : ` ${code}`}${replayed}`;
}

export async function runLimit(world: World, limit: LimitName): Promise<LimitView> {
  const broken = await playOn(world, limit, false);
  return { limit, broken, mended: await playOn(world, limit, true) };
}

async function playOn(world: World, name: LimitName, isMended: boolean): Promise<LimitRun> {
  const { play, broken, mended, bankMode, redis: policies } = limits[name];
  const run = randomUUID().slice(0, 8);
  const folder = join(world.folder, `limit-${run}`);
  await mkdir(folder);
  const redis = policies && (await startSmallRedis(folder, isMended ? policies.mended : policies.broken));
  const undo: (() => Promise<void>)[] = [async () => redis?.stop()];
  if (redis !== undefined) world.log.note({ who: "supervisor", run, pid: redis.pid, what: "redis-start" });
  try {
    const variables = { ...(isMended ? mended : broken), ...(redis && { LANE_REDIS_URL: redis.url }) };
    const child = await startLaneProcess("protected", { folder, bankUrl: world.bank.url, variables }, world.log);
    undo.push(() => child.stop());
    const proxy = await startFaultProxy({ lane: "protected", log: world.log, target: () => child.port });
    undo.push(() => proxy.close());
    await world.bankFault({ mode: bankMode });
    const cart = { run, orderId: `order-${run}`, amount: 4_200, currency: "EUR" };
    const told = await play({ world, child, proxy, folder, cart, redis }, isMended);
    const seen = redis && { redis: { evicted: await redis.evicted(), doctor: await redis.doctor() } };
    const charges = await chargesOf(world, run);
    return { told, run, charges, charged: chargedOf(charges), ...seen };
  } finally {
    for (const step of undo.toReversed()) await step();
    await setBankMode(world, world.bankMode);
  }
}

async function chargesOf(world: World, run: string): Promise<readonly Charge[]> {
  const asked = new Set(world.log.of(run).map(({ reference }) => reference));
  return (await world.charges()).filter(({ reference }) => asked.has(reference));
}
