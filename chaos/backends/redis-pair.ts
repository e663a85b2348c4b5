/**
 * A master and a replica that follows it, without waiting for it. At a failover the master dies in the middle of what it was
 * sending, the replica takes its place, as Sentinel would have it, and a new one follows. What it had not got is forgotten.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createFaultProxy, type FaultProxy } from "../../packages/ichido/src/testing/fault-proxy.ts";
import type { Instance } from "../../scripts/services/instance.ts";
import { startRedis } from "../../scripts/services/redis.ts";
import { isRow, policies } from "../policies.ts";
import type { Backend } from "./backend.ts";
import { run, until } from "./redis.ts";
import { openSwitchboard, through } from "./switchboard.ts";

const config = { appendonly: "yes", "repl-diskless-sync-delay": 0 };
const lagMs = 300;

interface Pair {
  readonly master: Instance;
  readonly replica: Instance;
  /** Between the two. */
  readonly line: FaultProxy;
}

async function follow(master: Instance): Promise<Pair> {
  const line = await createFaultProxy({ target: master.url });
  const replica = await startRedis({ config });
  await run(replica.url, "REPLICAOF", "127.0.0.1", String(line.port));
  await until("the replica follows", async () =>
    String(await run(replica.url, "INFO", "replication")).includes("master_link_status:up"),
  );
  return { master, replica, line };
}

export async function startRedisPair(): Promise<Backend> {
  let pair = await follow(await startRedis({ config }));
  const board = await openSwitchboard(pair.master.port);
  return {
    url: through(pair.master.url, board),
    line: { key: "ichido:{" },
    policies: policies.filter((policy) => !isRow(policy)),
    isForgetful: true,
    async failOver() {
      const { master, replica, line } = pair;
      line.faults({ toClient: { stall: true } });
      await sleep(lagMs);
      await master.kill("SIGKILL");
      await line.close();
      await run(replica.url, "REPLICAOF", "NO", "ONE");
      board.lead(replica.port);
      await master.stop();
      pair = await follow(replica);
    },
    async stop() {
      await board.close();
      await pair.line.close();
      await pair.replica.stop();
      await pair.master.stop();
    },
  };
}
