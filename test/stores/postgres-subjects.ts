/** PostgreSQL stores for the store suite: one database for a file, emptied before each case, with a clock that can move. */
import pg from "pg";
import postgres from "postgres";
import { afterAll, describe, it } from "vitest";
import { postgresStore } from "ichido/postgres";
import type { PostgresClient, PostgresStoreOptions } from "ichido/postgres";
import { storeSuite } from "ichido/testing";
import { pgTransactions, postgresTransactions } from "ichido/transactions";
import type { TransactionRunner } from "ichido/transactions";
import type { StoreSubject } from "ichido/testing";
import { addMovableClock, moveClock } from "../support/movable-clock.ts";
import { freshDatabase } from "../support/services.ts";

/** A client of the user's, and how the user would end it. */
export interface OwnedClient {
  readonly client: PostgresClient;
  /** Transactions on other connections of the same client. */
  readonly runner?: TransactionRunner<unknown>;
  end(): Promise<unknown>;
}

export type MakeClient = (url: string) => Promise<OwnedClient>;

const connectionsMax = 6;

export const makePool: MakeClient = async (url) => {
  const pool = new pg.Pool({ connectionString: url, max: connectionsMax });
  pool.on("error", () => {});
  return { client: pool, runner: pgTransactions(pool), end: () => pool.end() };
};

export const makePipelinePool: MakeClient = async (url) => {
  const pool = new pg.Pool({ connectionString: url, max: connectionsMax, pipeline: true });
  pool.on("error", () => {});
  return { client: pool, runner: pgTransactions(pool), end: () => pool.end() };
};

export const makeClient: MakeClient = async (url) => {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  return { client, end: () => client.end() };
};

export const makePipelineClient: MakeClient = async (url) => {
  const client = new pg.Client({ connectionString: url, pipeline: true });
  client.on("error", () => {});
  await client.connect();
  return { client, end: () => client.end() };
};

export const makePostgresJs: MakeClient = async (url) => {
  const sql = postgres(url, { max: connectionsMax });
  return { client: sql, runner: postgresTransactions(sql), end: () => sql.end() };
};

const tables = [
  "records",
  "steps",
  "audit",
  "clock",
  "log_pages",
  "attempts",
  "processes",
  "twins",
  "resources",
  "log_sweep",
  "open_records",
  "open_until",
];

export interface SubjectOptions {
  readonly name: string;
  readonly serverUrl: string;
  readonly make: MakeClient;
  readonly options?: PostgresStoreOptions;
  /** By default the clock of the store moves and nothing waits; `false` lets real time pass. */
  readonly movesClock?: boolean;
  /** As the suite's subject has it. */
  readonly histories?: number;
  /** The address through which the store connects, given that of the database. */
  readonly through?: (url: string) => string;
}

export interface PreparedSubject extends StoreSubject {
  drop(): Promise<void>;
}

export async function prepareSubject(given: SubjectOptions): Promise<PreparedSubject> {
  const movesClock = given.movesClock ?? true;
  const database = await freshDatabase(given.serverUrl);
  const admin = new pg.Client({ connectionString: database.url });
  admin.on("error", () => {});
  await admin.connect();
  if (movesClock) {
    await addMovableClock(admin, database.name);
  }
  const url = given.through?.(database.url) ?? database.url;
  const first = await given.make(url);
  const second = await given.make(url);
  const store = postgresStore(first.client, given.options);
  await store.migrate();
  return {
    name: given.name,
    movesClock,
    watches: true,
    joins: first.runner !== undefined,
    ...(given.histories !== undefined && { histories: given.histories }),
    async open() {
      // A few rows: emptying their files would take longer than most cases.
      for (const table of tables) await admin.query(`delete from ichido_${table}`);
      if (movesClock) await moveClock(admin, 0);
      return {
        store,
        second: postgresStore(second.client, given.options),
        ...(first.runner !== undefined && { runner: first.runner }),
        ...(movesClock && {
          clock: {
            advanceMs: async (ms: number) => {
              await admin.query("update test_clock.shift set ms = ms + $1", [Math.round(ms)]);
            },
          },
        }),
        close: async () => {},
      };
    },
    async drop() {
      await store.close();
      await Promise.all([first.end(), second.end()]);
      await admin.end();
      await database.drop();
    },
  };
}

/** The store suite for each variant, one after the other. */
export async function describeStores(
  serverUrl: string,
  variants: readonly Omit<SubjectOptions, "serverUrl">[],
): Promise<void> {
  for (const variant of variants) {
    const subject = await prepareSubject({ ...variant, serverUrl });
    describe(variant.name, () => {
      storeSuite({ describe, it }, subject);
      afterAll(() => subject.drop());
    });
  }
}
