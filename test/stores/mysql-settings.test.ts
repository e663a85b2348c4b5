/** The same lives under every setting of a session or a driver that could change what a statement means. */
import mysql2Callback from "mysql2";
import mysql2 from "mysql2/promise";
import { IchidoError } from "ichido";
import { mysqlStore } from "ichido/mysql";
import { sampleResponse } from "ichido/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith, freshDatabase } from "../support/services.ts";
import type { FreshDatabase } from "../support/services.ts";
import { drivers, emptyTables, migrated, openClient } from "./mysql-clients.ts";
import type { Client, ClientOptions, Driver } from "./mysql-clients.ts";
import { granted, liveOneLife, liveTogether, outlive, request } from "./mysql-life.ts";

const sessions: Readonly<Record<string, string>> = {
  "no strict mode": "set session sql_mode = ''",
  "traditional mode": "set session sql_mode = 'TRADITIONAL'",
  "ANSI quotes and pipes": "set session sql_mode = 'ANSI'",
  "no backslash escapes": "set session sql_mode = 'NO_BACKSLASH_ESCAPES'",
  "simultaneous assignment": "set session sql_mode = 'SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES'",
  "Oracle mode, empty strings as null": "set session sql_mode = 'ORACLE,EMPTY_STRING_IS_NULL,NO_BACKSLASH_ESCAPES'",
  "a time zone east of UTC": "set session time_zone = '+13:00'",
  "a time zone west of UTC": "set session time_zone = '-11:00'",
  "read uncommitted": "set session transaction isolation level read uncommitted",
  "read committed": "set session transaction isolation level read committed",
  serializable: "set session transaction isolation level serializable",
  "latin1 as character set": "set names latin1",
  "safe updates": "set session sql_safe_updates = 1",
};

const driverOptions: readonly { readonly what: string; readonly driver: Driver; readonly options: ClientOptions }[] = [
  { what: "named placeholders", driver: "mysql2", options: { mysql2: { namedPlaceholders: true } } },
  { what: "rows as arrays", driver: "mysql2", options: { mysql2: { rowsAsArray: true } } },
  { what: "nested tables", driver: "mysql2", options: { mysql2: { nestTables: true } } },
  { what: "a type cast of its own", driver: "mysql2", options: { mysql2: { typeCast: () => "cast" } } },
  { what: "no type cast", driver: "mysql2", options: { mysql2: { typeCast: false } } },
  {
    what: "big numbers as text",
    driver: "mysql2",
    options: { mysql2: { supportBigNumbers: true, bigNumberStrings: true } },
  },
  { what: "decimals as numbers", driver: "mysql2", options: { mysql2: { decimalNumbers: true, dateStrings: true } } },
  { what: "changed rows counted", driver: "mysql2", options: { mysql2: { flags: ["-FOUND_ROWS"] } } },
  {
    what: "another character set",
    driver: "mysql2",
    options: { mysql2: { charset: "LATIN1_SWEDISH_CI", timezone: "+09:00" } },
  },
  { what: "multiple statements", driver: "mysql2", options: { mysql2: { multipleStatements: true } } },
  { what: "named placeholders", driver: "mariadb", options: { mariadb: { namedPlaceholders: true } } },
  { what: "rows as arrays", driver: "mariadb", options: { mariadb: { rowsAsArray: true } } },
  { what: "nested tables", driver: "mariadb", options: { mariadb: { nestTables: true } } },
  { what: "rows with their description", driver: "mariadb", options: { mariadb: { metaAsArray: true } } },
  { what: "a type cast of its own", driver: "mariadb", options: { mariadb: { typeCast: () => "cast" } } },
  {
    what: "numbers instead of bigints",
    driver: "mariadb",
    options: {
      mariadb: { insertIdAsNumber: true, bigIntAsNumber: true, decimalAsNumber: true, checkNumberRange: true },
    },
  },
  {
    what: "big numbers as text",
    driver: "mariadb",
    options: { mariadb: { supportBigNumbers: true, bigNumberStrings: true } },
  },
  { what: "changed rows counted", driver: "mariadb", options: { mariadb: { foundRows: false } } },
  { what: "another time zone", driver: "mariadb", options: { mariadb: { timezone: "+09:00", dateStrings: true } } },
];

describeWith("mariadb", "mysql store under any setting", (url) => {
  let database: FreshDatabase;
  let plain: Client;
  beforeAll(async () => {
    database = await freshDatabase(url);
    plain = openClient("mysql2", database.url);
    await migrated(plain);
  });
  afterAll(async () => {
    await plain.end();
    await database.drop();
  });

  async function withClient(
    driver: Driver,
    options: ClientOptions,
    run: (client: Client) => Promise<void>,
  ): Promise<void> {
    await emptyTables(plain);
    const client = openClient(driver, database.url, { connections: 2, ...options });
    try {
      await run(client);
    } finally {
      await client.end();
    }
  }

  for (const driver of drivers) {
    for (const [what, session] of Object.entries(sessions)) {
      test(`S1 to S18 every verb means the same with ${what}, through ${driver}`, async () => {
        await withClient(driver, { session }, async ({ pool }) => {
          const store = mysqlStore(pool);
          await liveOneLife(store, "life");
          await liveTogether(store, "together");
          await outlive(store, "short");
        });
      });
    }
  }

  for (const { what, driver, options } of driverOptions) {
    test(`S1 to S18 every verb means the same with ${what} set on ${driver}`, async () => {
      await withClient(driver, options, async ({ pool }) => {
        const store = mysqlStore(pool);
        await liveOneLife(store, "life");
        await liveTogether(store, "together");
        await outlive(store, "short");
      });
    });
  }

  test("S1 a single connection and the callback interface of mysql2 will do", async () => {
    await emptyTables(plain);
    const at = new URL(database.url);
    const where = { host: at.hostname, port: Number(at.port), user: at.username, database: database.name };
    const connection = await mysql2.createConnection(where);
    await liveOneLife(mysqlStore(connection), "connection");
    await connection.end();
    await emptyTables(plain);
    const pool = mysql2Callback.createPool(where);
    await liveOneLife(mysqlStore(pool), "callbacks");
    await new Promise((resolve) => pool.end(resolve));
  });

  test("S13 what would be cut by a server without strict mode is refused before it is sent", async () => {
    await withClient("mysql2", { session: "set session sql_mode = ''" }, async ({ pool }) => {
      const store = mysqlStore(pool);
      const long = "x".repeat(1_021);
      const refused = expect.objectContaining({ code: "option-invalid" });
      await expect(store.claim(request(long, "a"))).rejects.toEqual(refused);
      const identity = { ...request("key", "a").identity, operation: long };
      await expect(store.claim(request("key", "a", { identity }))).rejects.toEqual(refused);
      await expect(store.claim(request("key", "a", { labels: { l: "x".repeat(70_000) } }))).rejects.toEqual(refused);
      const claim = await granted(store, request("key", "a"));
      await expect(store.startStep({ ...claim, name: long, leaseMs: 1_000 })).rejects.toEqual(refused);
      await expect(store.suspend({ ...claim, holdReason: "x".repeat(70_000) })).rejects.toEqual(refused);
      expect((await store.stats()).records).toBe(1);
    });
  });

  test.for(drivers)("S7 an answer beyond max_allowed_packet is refused by name, through %s", async (driver) => {
    await withClient(driver, {}, async (client) => {
      const store = mysqlStore(client.pool);
      const [limit] = await client.rows("select @@global.max_allowed_packet as bytes");
      const claim = await granted(store, request("key", "a"));
      const body = new Uint8Array(Number(limit?.["bytes"]) / 2);
      const refused = { code: "value-not-serialisable", message: expect.stringContaining("max_allowed_packet") };
      await expect(store.complete({ ...claim, response: sampleResponse({ body }) })).rejects.toMatchObject(refused);
      const fits = sampleResponse({ body: body.subarray(4_096) });
      expect(await store.complete({ ...claim, response: fits })).toBe("ok");
      const replay = await store.claim(request("key", "b"));
      expect(replay.outcome === "completed" && replay.response.body.length).toBe(body.length - 4_096);
    });
  });

  test.for(drivers)(
    "S18 connections of %s without autocommit are refused: no claim would be committed",
    async (driver) => {
      await withClient(driver, { session: "set session autocommit = 0" }, async ({ pool }) => {
        const store = mysqlStore(pool);
        await expect(store.ping()).rejects.toMatchObject({ code: "option-invalid" });
        await expect(store.claim(request("key", "a"))).rejects.toMatchObject({ code: "option-invalid" });
      });
    },
  );

  test("S15 no error of the store quotes a key, a value or a statement", async () => {
    const canary = "canary-9f8e7d";
    const client = openClient("mariadb", database.url, { connections: 1 });
    const store = mysqlStore(client.pool, { tablePrefix: "nowhere_" });
    const error: unknown = await store.claim(request(canary, "a")).catch((thrown: unknown) => thrown);
    await client.end();
    expect(error).toBeInstanceOf(IchidoError);
    expect(error).toMatchObject({ code: "schema-missing" });
    const told = [error, (error as IchidoError).cause].map((each) => `${String(each)} ${JSON.stringify(each)}`).join();
    expect(told).not.toContain(canary);
    expect(told).not.toContain(Buffer.from(canary).toString("hex"));
    expect(told).not.toContain("insert into");
  });
});
