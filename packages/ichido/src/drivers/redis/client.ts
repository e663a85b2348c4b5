/**
 * The user's own client, by shape: `Redis` or `Cluster` of `ioredis`, or a client or cluster of `redis` (node-redis).
 * Only what the store calls is named, so that any version with these members fits and none is imported.
 */
import { IchidoError } from "../../core/contract/errors.ts";

export type RedisArgument = string | Buffer;

/** `Redis` of `ioredis`. */
export interface IoredisClient {
  // Methods are compared loosely, so that the overloads of the driver fit.
  call(command: string, args: RedisArgument[]): Promise<unknown>;
  callBuffer(command: string, args: RedisArgument[]): Promise<unknown>;
  duplicate(): IoredisSubscriber;
  readonly options: { readonly keyPrefix?: string | undefined; readonly enableAutoPipelining?: boolean | undefined };
  /** The socket, while there is one. */
  readonly stream?: { cork?(): void; uncork?(): void } | undefined;
}

/** `Cluster` of `ioredis`. */
export interface IoredisCluster extends IoredisClient {
  readonly isCluster: boolean;
  /** Those of its nodes are asked by themselves where a whole cluster is walked through. */
  readonly options: IoredisClient["options"] & {
    readonly redisOptions?: { readonly enableAutoPipelining?: boolean | undefined } | undefined;
  };
  nodes(role?: "master"): IoredisClient[];
}

export interface IoredisSubscriber {
  on(event: string, listener: (...values: unknown[]) => void): unknown;
  subscribe(...channels: string[]): Promise<unknown>;
  unsubscribe(...channels: string[]): Promise<unknown>;
  disconnect(): void;
}

export interface NodeRedisOptions {
  readonly typeMapping?: Record<number, unknown>;
  /** How long a command may wait to be written; 0 is for ever. */
  readonly timeout?: number;
}

/** What `createClient` of `redis` gives, connected. */
export interface NodeRedisClient {
  sendCommand(args: RedisArgument[], options?: NodeRedisOptions): Promise<unknown>;
  duplicate(): NodeRedisSubscriber;
}

/** What `createCluster` of `redis` gives, connected. */
export interface NodeRedisCluster {
  sendCommand(
    firstKey: RedisArgument | undefined,
    isReadonly: boolean | undefined,
    args: RedisArgument[],
    options?: NodeRedisOptions,
  ): Promise<unknown>;
  readonly masters: readonly unknown[];
  nodeClient(node: never): PromiseLike<unknown>;
  duplicate(): NodeRedisSubscriber;
}

export interface NodeRedisSubscriber {
  on(event: string, listener: (...values: unknown[]) => void): unknown;
  connect(): Promise<unknown>;
  subscribe(channel: string, listener: (message: string, channel: string) => unknown): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  destroy(): unknown;
}

export type RedisClient = IoredisClient | IoredisCluster | NodeRedisClient | NodeRedisCluster;

export type ClientKind =
  | { readonly kind: "ioredis"; readonly client: IoredisClient }
  | { readonly kind: "ioredis-cluster"; readonly client: IoredisCluster }
  | { readonly kind: "node-redis"; readonly client: NodeRedisClient }
  | { readonly kind: "node-redis-cluster"; readonly client: NodeRedisCluster };

export function kindOf(client: RedisClient): ClientKind {
  const has = (name: string): boolean =>
    typeof client === "object" && client !== null && typeof Reflect.get(client, name) === "function";
  if (has("callBuffer") && has("duplicate")) {
    const cluster = client as IoredisCluster;
    const { enableAutoPipelining, redisOptions } = cluster.options ?? {};
    if (enableAutoPipelining === true || redisOptions?.enableAutoPipelining === true) throw pipelining();
    return cluster.isCluster ? { kind: "ioredis-cluster", client: cluster } : { kind: "ioredis", client: cluster };
  }
  if (has("sendCommand") && has("nodeClient"))
    return { kind: "node-redis-cluster", client: client as NodeRedisCluster };
  // A Sentinel client of node-redis has another signature under the same name.
  if (has("sendCommand") && has("duplicate") && !has("getMasterNode")) {
    return { kind: "node-redis", client: client as NodeRedisClient };
  }
  throw new IchidoError(
    "option-invalid",
    "option client: expected a Redis or Cluster of ioredis, or a client or cluster of redis (node-redis)",
  );
}

/** ioredis itself fails there at every command whose reply is wanted as bytes, outside of anything that could catch it. */
function pipelining(): IchidoError {
  return new IchidoError(
    "option-invalid",
    "option enableAutoPipelining: expected a client of ioredis without it, got true; give ichido a client of its own. What is sent in one " +
      "turn leaves in one piece without it",
  );
}
