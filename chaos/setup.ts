/** What a process of the fleet is told when it starts. */
export const storeNames = [
  "sqlite",
  "postgres",
  "postgres-js",
  "pgbouncer",
  "postgres-sync",
  "postgres-async",
  "mariadb",
  "redis",
  "redis-replica",
  "redis-sentinel",
  "redis-cluster",
] as const;
export type StoreName = (typeof storeNames)[number];

export const isStoreName = (name: string): name is StoreName => storeNames.some((each) => each === name);

export type Wire = "http1" | "http2";

export interface Setup {
  readonly store: StoreName;
  readonly url: string;
  /** One honours references, the other takes every call for a new one. */
  readonly banks: { readonly honest: string; readonly deaf: string };
  readonly wire: Wire;
  /** A middleware that looks first and runs then, in place of ichido. */
  readonly naive: boolean;
  /** What is allowed for a slow machine, where a call's absence is taken for proof. */
  readonly slackMs: number;
  /** Absent: records outlive the run. */
  readonly retentionMs?: number;
}

export const readSetup = (): Setup => JSON.parse(process.argv[2] ?? "{}") as Setup;
