/** Options of drivers and sessions that change what is sent or read: one run, its replay, and the verbs of people. */
import { postgresStore } from "ichido/postgres";
import type { PostgresStoreOptions } from "ichido/postgres";
import { pgTransactions, postgresTransactions } from "ichido/transactions";
import type { TransactionRunner } from "ichido/transactions";
import pg from "pg";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addEffect } from "../effects/sides.ts";
import { caller } from "../effects/callers.ts";
import { freshDatabase, postgresUrl } from "../support/services.ts";
import type { FreshDatabase } from "../support/services.ts";

const server = await postgresUrl();

interface Subject {
  readonly store: ReturnType<typeof postgresStore>;
  readonly runner: TransactionRunner<unknown>;
  readonly close: () => Promise<unknown>;
}

function onPg(config: pg.PoolConfig, options: PostgresStoreOptions = {}) {
  return (url: string): Subject => {
    const pool = new pg.Pool({ connectionString: url, max: 4, ...config });
    pool.on("error", () => {});
    const store = postgresStore(pool, options);
    return { store, runner: pgTransactions(pool), close: () => store.close().then(() => pool.end()) };
  };
}

function onPostgresJs(config: postgres.Options<Record<string, postgres.PostgresType>>) {
  return (url: string): Subject => {
    const sql = postgres(url, { max: 4, onnotice: () => undefined, ...config });
    const store = postgresStore(sql as never);
    return { store, runner: postgresTransactions(sql), close: () => store.close().then(() => sql.end({ timeout: 1 })) };
  };
}

/** Parsers of the program's own, for types that ichido reads. */
function parsing(type: number, parse: (text: string) => unknown): pg.PoolConfig {
  const getTypeParser = (asked: number, format?: string): unknown =>
    asked === type ? parse : pg.types.getTypeParser(asked, format as "text");
  return { types: { getTypeParser } as pg.CustomTypesConfig };
}

const session = (settings: string): pg.PoolConfig => ({ options: settings });

const settings: Readonly<Record<string, (url: string) => Subject>> = {
  "pg: no option": onPg({}),
  "pg: bigint as BigInt": onPg(parsing(20, BigInt)),
  "pg: booleans as text": onPg(parsing(16, String)),
  "pg: bytea as base64": onPg(parsing(17, (text) => Buffer.from(text.slice(2), "hex").toString("base64"))),
  "pg: pipeline": onPg({ pipeline: true } as pg.PoolConfig),
  "session: standard_conforming_strings off": onPg(session("-c standard_conforming_strings=off")),
  "session: bytea_output escape": onPg(session("-c bytea_output=escape")),
  "session: time zone, date and interval styles": onPg(
    session("-c TimeZone=Asia/Kolkata -c DateStyle=German -c IntervalStyle=iso_8601 -c extra_float_digits=-5"),
  ),
  "store: schema, search_path empty": onPg(session("-c search_path="), { schema: "apart" }),
  "postgres.js: no option": onPostgresJs({}),
  "postgres.js: bigint as BigInt": onPostgresJs({ types: { bigint: postgres.BigInt } }),
  "postgres.js: transform camel": onPostgresJs({ transform: postgres.camel }),
  "postgres.js: transform.value, null as undefined": onPostgresJs({
    transform: { value: { from: (value: unknown) => value ?? undefined } as never },
  }),
  "postgres.js: transform.undefined": onPostgresJs({ transform: { undefined: null } }),
  "postgres.js: fetch_types and prepare off": onPostgresJs({ fetch_types: false, prepare: false }),
};

describe("postgres, options of drivers and sessions", () => {
  let database: FreshDatabase;
  beforeAll(async () => {
    database = await freshDatabase(server);
    const pool = new pg.Pool({ connectionString: database.url, max: 1 });
    await pool.query("create table public.effects (id bigint generated always as identity, name text, once text)");
    await pool.end();
  });
  afterAll(() => database?.drop());

  test.each(Object.keys(settings))(
    "S18 one run and its replay in both modes, list, stats and steps: %s",
    async (name) => {
      const { store, runner, close } = (settings[name] as (url: string) => Subject)(database.url);
      await store.migrate();
      const shop = caller({ store, runner, connections: () => -1, close: async () => undefined });
      for (const mode of ["lease", "transaction"] as const) {
        let runs = 0;
        const key = `${name} ${mode} it's`;
        const ask = () =>
          shop.ask(
            key,
            async (context) => {
              runs += 1;
              if (mode === "lease") await context.step("bank", () => "é\u0001");
              await context.transaction(async (_tx, handle) => {
                if (!name.includes("search_path empty")) await addEffect(handle, key);
                return { status: 201, body: { t: "it's \\ ünï \u0001" } };
              });
              return { status: 201 };
            },
            { mode },
          );
        const first = await ask();
        expect(first.status).toBe(201);
        expect(await ask()).toEqual({ ...first, replayed: true });
        expect(runs).toBe(1);
      }
      const { records } = await store.list({ limit: 100 });
      const found = records.filter(({ identity }) => identity.key.startsWith(name));
      expect(found.map(({ response }) => response?.status)).toEqual([201, 201]);
      const leased = found.find(({ identity }) => identity.key.includes("lease"));
      expect(await store.steps(leased!.identity)).toMatchObject([{ name: "bank", state: "finished" }]);
      await store.stats();
      await store.tick({ intervalMs: 1_000 });
      await store.ping();
      await shop.ichido.close();
      await close();
    },
  );

  test("S18 what cannot be read is refused by name", () => {
    const sql = postgres(server, { transform: { row: { from: (row: object) => ({ ...row }) } as never } });
    expect(() => postgresStore(sql as never)).toThrow(/transform\.row/);
    const binary = new pg.Pool({ connectionString: server, binary: true } as pg.PoolConfig);
    expect(() => postgresStore(binary)).toThrow(/binary: true/);
    expect(() => pgTransactions(binary)).toThrow(/binary: true/);
  });
});
