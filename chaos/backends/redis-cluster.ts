/**
 * Three masters with a replica each. By turns one of the masters dies, or stands still for longer than the others wait,
 * and its replica takes its place. What it had acknowledged and not passed on is forgotten.
 */
import type { Instance } from "../../scripts/services/instance.ts";
import { startRedisCluster } from "../../scripts/services/redis.ts";
import { isRow, policies } from "../policies.ts";
import { clusterUrl } from "../sides/redis-addresses.ts";
import type { Backend } from "./backend.ts";
import { run, until } from "./redis.ts";

const nodeTimeoutMs = 1_000;

interface Seen {
  readonly id: string;
  readonly port: number;
  readonly isMaster: boolean;
  /** Of a replica: the id of its master. */
  readonly follows: string;
  readonly isSound: boolean;
}

/** A line is `id ip:port@bus flags master …`. */
async function nodesSeenBy({ url }: Instance): Promise<readonly Seen[]> {
  const text = String(await run(url, "CLUSTER", "NODES"));
  return text
    .trim()
    .split("\n")
    .map((line) => {
      const [id = "", address = "", flags = "", follows = "", , , , link] = line.split(" ");
      const port = Number(/:(\d+)@/.exec(address)?.[1]);
      const isSound = !flags.includes("fail") && link === "connected";
      return { id, port, isMaster: flags.includes("master"), follows, isSound };
    });
}

export async function startRedisClusterBackend(): Promise<Backend> {
  const cluster = await startRedisCluster({
    nodeTimeoutMs,
    config: { appendonly: "yes", "repl-diskless-sync-delay": 0 },
  });
  const { nodes } = cluster;
  const at = (port: number): Instance => {
    const node = nodes.find((each) => each.port === port);
    if (node === undefined) throw new Error(`no node has port ${port}`);
    return node;
  };
  let turn = 0;

  /** A master with a replica that has all it was sent, and another node that is asked what became of them. */
  async function pair(): Promise<{
    readonly master: Instance;
    readonly replica: Instance;
    readonly witness: Instance;
  }> {
    const seen = await nodesSeenBy(nodes[0] as Instance);
    const masters = seen.filter(({ isMaster, isSound }) => isMaster && isSound).toSorted((a, b) => a.port - b.port);
    const master = masters[turn % masters.length];
    const replica = seen.find(({ follows, isSound }) => follows === master?.id && isSound);
    const witness = masters[(turn + 1) % masters.length];
    if (master === undefined || replica === undefined || witness === undefined) throw new Error("not whole");
    return { master: at(master.port), replica: at(replica.port), witness: at(witness.port) };
  }

  const isFollower = async ({ url }: Instance): Promise<boolean> =>
    String(await run(url, "INFO", "replication")).includes("master_link_status:up");
  const isWhole = async (): Promise<boolean> => {
    const seen = await Promise.all(nodes.map(nodesSeenBy));
    return seen.every((each) => each.filter(({ isMaster }) => isMaster).length === 3 && each.every((n) => n.isSound));
  };

  return {
    url: clusterUrl(nodes.map(({ port }) => port)),
    policies: policies.filter((policy) => !isRow(policy)),
    isForgetful: true,
    async failOver() {
      turn += 1;
      await until("the cluster is whole", isWhole);
      const { master, replica, witness } = await pair();
      const isPause = turn % 2 === 0;
      if (isPause) master.pause();
      else await master.kill("SIGKILL");
      await until("the replica takes the place", async () =>
        (await nodesSeenBy(witness)).some(({ port, isMaster }) => port === replica.port && isMaster),
      );
      if (isPause) master.resume();
      else await master.restart();
      await until("the former master follows", () => isFollower(master));
    },
    stop: () => cluster.stop(),
  };
}
