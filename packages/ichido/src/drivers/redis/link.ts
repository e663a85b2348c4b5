/** One way to speak to either driver, on one server or a cluster. Replies hold bytes as Buffers. */
import type {
  ClientKind,
  IoredisClient,
  IoredisSubscriber,
  NodeRedisClient,
  NodeRedisOptions,
  NodeRedisSubscriber,
  RedisArgument,
} from "./client.ts";

/** A server that owns keys: the only one, or a master of the cluster. */
export interface ServerLink {
  send(args: readonly RedisArgument[]): Promise<unknown>;
}

export interface Link extends ServerLink {
  readonly cluster: boolean;
  /** The driver puts this before every key; what SCAN gives has it already. */
  readonly keyPrefix: string;
  /** To whichever server owns the key, redirections followed. The key must be in `args`, too. */
  sendTo(key: string, args: readonly RedisArgument[]): Promise<unknown>;
  /** What is sent in the rest of this task leaves in one write. Only where the driver does not do so itself. */
  gather?(): void;
  servers(): Promise<readonly ServerLink[]>;
  /** A connection of the store's own, opened now. */
  subscriber(onMessage: (channel: string) => void): Promise<SubscriberLink>;
}

export interface SubscriberLink {
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  close(): void;
}

/** `$` of the protocol: strings of any bytes. */
const blobString = 36;
/** No timeout of the driver's: it makes an AbortSignal for each command, and the store has a deadline of its own. */
const asBuffers: NodeRedisOptions = { typeMapping: { [blobString]: Buffer }, timeout: 0 };

export function linkOf(client: ClientKind): Link {
  switch (client.kind) {
    case "ioredis":
    case "ioredis-cluster": {
      const one = ioredisServer(client.client);
      return {
        cluster: client.kind === "ioredis-cluster",
        keyPrefix: client.client.options.keyPrefix ?? "",
        send: (args) => one.send(args),
        sendTo: (_key, args) => one.send(args),
        ...(client.kind === "ioredis" && { gather: gatherOf(client.client) }),
        servers: async () => (client.kind === "ioredis" ? [one] : client.client.nodes("master").map(ioredisServer)),
        subscriber: async (onMessage) => ioredisSubscriber(client.client.duplicate(), onMessage),
      };
    }
    case "node-redis": {
      const one = nodeRedisServer(client.client);
      return {
        cluster: false,
        keyPrefix: "",
        send: (args) => one.send(args),
        sendTo: (_key, args) => one.send(args),
        servers: async () => [one],
        subscriber: (onMessage) => nodeRedisSubscriber(client.client.duplicate(), onMessage),
      };
    }
    case "node-redis-cluster": {
      const { client: cluster } = client;
      return {
        cluster: true,
        keyPrefix: "",
        send: (args) => cluster.sendCommand(undefined, false, [...args], asBuffers),
        sendTo: (key, args) => cluster.sendCommand(key, false, [...args], asBuffers),
        async servers() {
          const nodes = await Promise.all(cluster.masters.map((node) => cluster.nodeClient(node as never)));
          return nodes.map((node) => nodeRedisServer(node as NodeRedisClient));
        },
        subscriber: (onMessage) => nodeRedisSubscriber(cluster.duplicate(), onMessage),
      };
    }
  }
}

/**
 * ioredis writes each command by itself, and a write to a socket costs more than everything else that a command does.
 * Commands that the current task and its promises send are written together when `process.nextTick` calls back.
 */
function gatherOf(client: IoredisClient): () => void {
  let gathering = false;
  return () => {
    const { stream } = client;
    if (gathering || typeof stream?.cork !== "function" || typeof stream.uncork !== "function") return;
    gathering = true;
    stream.cork();
    process.nextTick(() => {
      gathering = false;
      stream.uncork?.();
    });
  };
}

function ioredisServer(client: IoredisClient): ServerLink {
  return {
    send: (args) => client.callBuffer(String(args[0]), args.slice(1)),
  };
}

function nodeRedisServer(client: NodeRedisClient): ServerLink {
  return { send: (args) => client.sendCommand(args as RedisArgument[], asBuffers) };
}

/** Errors of a connection that only carries hints are ignored: polling goes on without it. */
const ignore = (): void => undefined;

function ioredisSubscriber(connection: IoredisSubscriber, onMessage: (channel: string) => void): SubscriberLink {
  connection.on("error", ignore);
  connection.on("message", (channel) => onMessage(String(channel)));
  return {
    subscribe: (channel) => connection.subscribe(channel),
    unsubscribe: (channel) => connection.unsubscribe(channel),
    close: () => connection.disconnect(),
  };
}

async function nodeRedisSubscriber(
  connection: NodeRedisSubscriber,
  onMessage: (channel: string) => void,
): Promise<SubscriberLink> {
  connection.on("error", ignore);
  await connection.connect();
  return {
    subscribe: (channel) => connection.subscribe(channel, (_message, from) => onMessage(from)),
    unsubscribe: (channel) => connection.unsubscribe(channel),
    close: () => void connection.destroy(),
  };
}
