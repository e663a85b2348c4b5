/** Marker tables in each kind of business database, with a ledger of effects beside them. */
import { DatabaseSync } from "node:sqlite";
import mysql2 from "mysql2/promise";
import pg from "pg";
import { sqlMarker } from "ichido/redis";
import type { Marker, MarkerDatabase } from "ichido/redis";
import { freshDatabase, mariadbUrl, postgresUrl } from "../support/services.ts";

export interface Business {
  readonly database: MarkerDatabase;
  readonly marker: Marker;
  /** The business effect; nothing prevents a second one. */
  effect(key: string): Promise<void>;
  /** Keys with more than one effect. */
  doubles(): Promise<readonly string[]>;
  effects(): Promise<number>;
  close(): Promise<void>;
}

export const kinds = ["sqlite", "postgres", "mysql"] as const;
export type Kind = (typeof kinds)[number];

interface Opened {
  readonly database: MarkerDatabase;
  close(): Promise<void>;
}

const open: Readonly<Record<Kind, () => Promise<Opened>>> = {
  async sqlite() {
    const handle = new DatabaseSync(":memory:");
    const database: MarkerDatabase = {
      dialect: "sqlite",
      async execute(sql, values) {
        const statement = handle.prepare(sql);
        if (/^\s*select/i.test(sql)) return { rows: statement.all(...(values as string[])), affected: 0 };
        return { rows: [], affected: Number(statement.run(...(values as string[])).changes) };
      },
    };
    return { database, close: async () => handle.close() };
  },
  async postgres() {
    const fresh = await freshDatabase(await postgresUrl());
    const pool = new pg.Pool({ connectionString: fresh.url, max: 4 });
    pool.on("error", () => {});
    const database: MarkerDatabase = {
      dialect: "postgres",
      async execute(sql, values) {
        const { rows, rowCount } = await pool.query<Record<string, unknown>>(sql, [...values]);
        return { rows, affected: rowCount ?? 0 };
      },
    };
    return {
      database,
      async close() {
        await pool.end();
        await fresh.drop();
      },
    };
  },
  async mysql() {
    const fresh = await freshDatabase(await mariadbUrl());
    const pool = mysql2.createPool({ uri: fresh.url, connectionLimit: 4 });
    const database: MarkerDatabase = {
      dialect: "mysql",
      async execute(sql, values) {
        const [result] = await pool.query(sql, [...values]);
        if (Array.isArray(result)) return { rows: result as Record<string, unknown>[], affected: 0 };
        return { rows: [], affected: result.affectedRows };
      },
    };
    return {
      database,
      async close() {
        await pool.end();
        await fresh.drop();
      },
    };
  },
};

export async function openBusiness(kind: Kind): Promise<Business> {
  const opened = await open[kind]();
  const { database } = opened;
  const marker = sqlMarker(database);
  await marker.migrate();
  await database.execute("create table ledger (name varchar(200) not null)", []);
  const place = kind === "postgres" ? "$1" : "?";
  const keysOf = async (sql: string): Promise<string[]> =>
    (await database.execute(sql, [])).rows.map((row) => String(row["name"]));
  return {
    database,
    marker,
    effect: async (key) => void (await database.execute(`insert into ledger (name) values (${place})`, [key])),
    doubles: () => keysOf("select name from ledger group by name having count(*) > 1"),
    effects: async () => (await keysOf("select name from ledger")).length,
    close: () => opened.close(),
  };
}
