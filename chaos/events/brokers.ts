/** The broker's server as those see it who do harm to it. */
import { startNats } from "../../scripts/services/nats.ts";
import { startRabbitmq } from "../../scripts/services/rabbitmq.ts";
import { startRedis } from "../../scripts/services/redis.ts";
import type { CutRule } from "../../packages/ichido/src/testing/fault-proxy.ts";
import type { Instance } from "../../scripts/services/instance.ts";
import type { BrokerName } from "./setup.ts";

export interface BrokerBackend {
  readonly url: string;
  /** Bytes of every call: what is published, fetched and acknowledged. */
  readonly calls: CutRule["pattern"];
  /** How long it is left alone between two restarts, about. */
  readonly restMs: number;
  /** Killed, and started again on the same data. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const start: Readonly<Record<BrokerName, () => Promise<Instance>>> = {
  nats: startNats,
  rabbitmq: startRabbitmq,
  "redis-streams": () => startRedis({ config: { appendonly: "yes", appendfsync: "always" } }),
};

const calls: Readonly<Record<BrokerName, CutRule["pattern"]>> = {
  nats: "PUB ",
  // A method of the class "basic".
  rabbitmq: Uint8Array.of(0, 60, 0),
  "redis-streams": "evalsha",
};

export async function startBroker(name: BrokerName): Promise<BrokerBackend> {
  const server = await start[name]();
  const url = new URL(server.url);
  // A line that is open on both sides and dead between them is noticed by this alone.
  if (name === "rabbitmq") url.searchParams.set("heartbeat", "1");
  return {
    url: url.href,
    calls: calls[name],
    // This one takes seconds to start, and its queues as long to find their leaders.
    restMs: name === "rabbitmq" ? 9_000 : 2_500,
    async restart() {
      await server.kill("SIGKILL");
      await server.restart();
    },
    stop: () => server.stop(),
  };
}
