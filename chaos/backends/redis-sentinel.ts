/**
 * A master, a replica and three Sentinels. By turns the master dies, or stands still for so long that it is replaced, and
 * goes on then: until it is told, it takes writes of those who still hold a line to it, and all of that is forgotten.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Instance } from "../../scripts/services/instance.ts";
import { startRedis } from "../../scripts/services/redis.ts";
import { startSentinels } from "../../scripts/services/redis-sentinel.ts";
import { isRow, policies } from "../policies.ts";
import { masterName, sentinelUrl } from "../sides/redis-addresses.ts";
import type { Backend } from "./backend.ts";
import { run, until } from "./redis.ts";

const config = { appendonly: "yes", "repl-diskless-sync-delay": 0 };
const downAfterMs = 500;
const failoverMs = 1_000;
/** How long two masters take writes. Sentinel itself lets it be for eight seconds. */
const twoMastersMs = 700;

const sentinels = (all: readonly Instance[], ...question: readonly string[]): Promise<readonly unknown[]> =>
  Promise.all(all.map(({ url }) => run(url, "SENTINEL", ...question, masterName)));

const follows = async ({ url }: Instance): Promise<boolean> =>
  String(await run(url, "INFO", "replication")).includes("master_link_status:up");

async function follow(follower: Instance, master: Instance): Promise<void> {
  await run(follower.url, "REPLICAOF", "127.0.0.1", String(master.port));
  await until("the replica follows", () => follows(follower));
}

export async function startRedisSentinel(): Promise<Backend> {
  let [master, replica] = [await startRedis({ config }), await startRedis({ config })];
  await follow(replica, master);
  const watchers = await startSentinels(master, { name: masterName, downAfterMs, failoverMs });
  /** Each knows the two others, and the one that can take the place. */
  const areReady = async (): Promise<boolean> =>
    (await sentinels(watchers, "sentinels")).every((others) => (others as unknown[]).length === watchers.length - 1) &&
    (await sentinels(watchers, "replicas")).every((found) => JSON.stringify(found).includes('"flags","slave"'));
  const isReplaced = async (): Promise<boolean> =>
    (await sentinels(watchers, "get-master-addr-by-name")).every(
      (address) => (address as readonly string[])[1] === String(replica.port),
    );
  await until("the Sentinels know each other", areReady);
  let turn = 0;
  return {
    url: sentinelUrl(watchers.map(({ port }) => port)),
    policies: policies.filter((policy) => !isRow(policy)),
    isForgetful: true,
    async failOver() {
      turn += 1;
      const isPause = turn % 2 === 0;
      await until("the Sentinels have a replica", areReady);
      if (isPause) master.pause();
      else await master.kill("SIGKILL");
      await until("the replica takes the place", isReplaced);
      if (isPause) {
        master.resume();
        await sleep(twoMastersMs);
      } else await master.restart();
      [master, replica] = [replica, master];
      await follow(replica, master);
      await run(replica.url, "CLIENT", "KILL", "TYPE", "normal");
    },
    async stop() {
      for (const each of [...watchers, replica, master]) await each.stop();
    },
  };
}
