/** A database with the tables in it, and claims with the usual values, for tests beside the store suite. */
import pg from "pg";
import { postgresStore } from "ichido/postgres";
import type { PostgresStore, PostgresStoreOptions } from "ichido/postgres";
import type { Claim, ClaimRequest, ClaimResult, Store } from "ichido";
import {
  sampleFingerprint,
  sampleIdentity,
  sampleOwner,
} from "../../packages/ichido/src/testing/store-suite/samples.ts";
import { freshDatabase } from "../support/databases.ts";

export interface Life {
  readonly url: string;
  readonly pool: pg.Pool;
  readonly store: PostgresStore;
  /** Another pool on the same database, ended with the rest. */
  newPool(options?: pg.PoolConfig): pg.Pool;
  /** One value, asked for on a connection that no store uses. */
  ask<Value>(sql: string, values?: unknown[]): Promise<Value>;
  end(): Promise<void>;
}

/** On a server that others use as well, or on the private one whose address is given. */
export async function openLife(serverUrl: string, options?: PostgresStoreOptions): Promise<Life> {
  const database = await freshDatabase(serverUrl);
  const pools: pg.Pool[] = [];
  const newPool = (config: pg.PoolConfig = {}): pg.Pool => {
    const pool = new pg.Pool({ connectionString: database.url, ...config });
    pool.on("error", () => {});
    pools.push(pool);
    return pool;
  };
  const pool = newPool();
  const admin = newPool({ max: 1 });
  const store = postgresStore(pool, options);
  await store.migrate();
  return {
    url: database.url,
    pool,
    store,
    newPool,
    async ask<Value>(sql: string, values: unknown[] = []) {
      const { rows } = await admin.query<[Value]>({ text: sql, values, rowMode: "array" });
      return (rows[0] as [Value])[0];
    },
    async end() {
      await store.close();
      await Promise.all(pools.map((each) => each.end()));
      await database.drop();
    },
  };
}

export function request(key: string, owner: string, changes: Partial<ClaimRequest> = {}): ClaimRequest {
  return {
    identity: sampleIdentity(key),
    owner: sampleOwner(owner),
    fingerprint: sampleFingerprint(),
    leaseMs: 30_000,
    retentionMs: 86_400_000,
    takeover: "lapsed",
    ...changes,
  };
}

export type Granted = Extract<ClaimResult, { outcome: "granted" }>;

export async function grant(store: Store, asked: ClaimRequest): Promise<Claim> {
  const result = await store.claim(asked);
  if (result.outcome !== "granted") throw new Error(`expected a grant, got ${result.outcome}`);
  return { identity: asked.identity, owner: asked.owner, fence: result.fence };
}
