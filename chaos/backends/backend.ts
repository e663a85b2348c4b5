/** The store's server as those see it who do harm to it. */
import type { Policy } from "../policies.ts";
import type { StoreName } from "../setup.ts";

export interface Backend {
  /** Of the server, or of the file. */
  readonly url: string;
  /** What is seen of the line by which the servers reach it; absent where there is none. */
  readonly line?: {
    /** Bytes of every call about a key. */
    readonly key: string;
    /** Bytes that end a transaction. */
    readonly commit?: string;
  };
  /** What can be asked for on it. */
  readonly policies: readonly Policy[];
  /** It may lose what it had acknowledged; what it keeps belongs together all the same. */
  readonly isForgetful?: boolean;
  /** The primary dies, and the one that followed it takes its place. */
  failOver?(): Promise<void>;
  /** Killed, and started again on the same data. */
  restart?(): Promise<void>;
  /** It refuses to write, and reads. */
  readOnly?(on: boolean): Promise<void>;
  /** No room is left for new records. */
  full?(on: boolean): Promise<void>;
  /** Writes that were refused because there was no room. */
  refused?(): number | Promise<number>;
  /** Its clock is so far off. */
  leap?(ms: number): Promise<void>;
  /** Somebody else holds the lock that every writer needs. */
  lock?(ms: number): Promise<void>;
  /** What its data take up. */
  bytes?(): Promise<number>;
  /** What an operator's timer would do now and then; nothing goes wrong meanwhile. */
  tidy?(): Promise<void>;
  stop(): Promise<void>;
}

/** Orders to the store inside of every process, where there is no server. */
export type Order = (line: string) => void;

/** `noRoom`: writes that were refused inside of the processes, as far as they have told. */
export async function startBackend(name: StoreName, order: Order, noRoom: () => number): Promise<Backend> {
  switch (name) {
    case "sqlite":
      return (await import("./sqlite.ts")).startSqlite(order, noRoom);
    case "postgres":
      return (await import("./postgres.ts")).startPostgresBackend();
    case "postgres-js":
      // This driver writes it small.
      return (await import("./postgres.ts")).startPostgresBackend("commit");
    case "pgbouncer":
      return (await import("./postgres.ts")).startPgbouncerBackend();
    case "postgres-sync":
    case "postgres-async":
      return (await import("./postgres-pair.ts")).startPostgresPair(name === "postgres-sync");
    case "mariadb":
      return (await import("./mariadb.ts")).startMariadbBackend();
    case "redis":
      return (await import("./redis.ts")).startRedisBackend();
    case "redis-replica":
      return (await import("./redis-pair.ts")).startRedisPair();
    case "redis-sentinel":
      return (await import("./redis-sentinel.ts")).startRedisSentinel();
    case "redis-cluster":
      return (await import("./redis-cluster.ts")).startRedisClusterBackend();
  }
}
