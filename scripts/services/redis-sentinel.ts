/** Redis Sentinel: processes that watch a master and put a replica in its place when it does not answer. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { giveToServer } from "./account.ts";
import { requireProgram } from "./binaries.ts";
import { answersRedis } from "./handshakes.ts";
import { launch } from "./instance.ts";
import type { Instance } from "./instance.ts";

export interface SentinelOptions {
  /** What clients call the master. */
  readonly name: string;
  /** How long the master may be silent before it counts as dead. */
  readonly downAfterMs: number;
  /** Within twice this time the same master is not replaced again. */
  readonly failoverMs: number;
}

const count = 3;
const quorum = 2;

/** Three of them, of which two must agree. They find each other and the replicas through the master. */
export async function startSentinels(master: Instance, options: SentinelOptions): Promise<readonly Instance[]> {
  const server = requireProgram("redis", "redis-server");
  const { name, downAfterMs, failoverMs } = options;
  const sentinels: Instance[] = [];
  try {
    while (sentinels.length < count) {
      const sentinel = await launch({
        name: "redis-sentinel",
        prepare: (folder, port) => {
          const file = join(folder, "sentinel.conf");
          const lines = [
            `port ${port}`,
            "bind 127.0.0.1",
            `dir ${folder}`,
            `sentinel monitor ${name} 127.0.0.1 ${master.port} ${quorum}`,
            `sentinel down-after-milliseconds ${name} ${downAfterMs}`,
            `sentinel failover-timeout ${name} ${failoverMs}`,
          ];
          writeFileSync(file, `${lines.join("\n")}\n`);
          // It writes down there what it has learnt.
          giveToServer(file);
        },
        command: (folder) => ({ program: server, args: [join(folder, "sentinel.conf"), "--sentinel"] }),
        url: (port) => `redis://127.0.0.1:${port}`,
        ready: answersRedis,
      });
      sentinels.push(sentinel);
    }
    return sentinels;
  } catch (error) {
    await Promise.all(sentinels.map((sentinel) => sentinel.stop()));
    throw error;
  }
}
