/** What `doctor` finds on the other stores: each fault seeded one by one on a real server, and the right set-up. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Redis } from "ioredis";
import { memoryStore } from "ichido/memory";
import { mysqlStore } from "ichido/mysql";
import { diagnose } from "ichido/operations";
import { redisStore, type RedisStoreOptions } from "ichido/redis";
import { sqliteStore } from "ichido/sqlite";
import type { Store } from "ichido";
import { createPool } from "mysql2/promise";
import { afterEach, describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { describeWith, startMariadb, startRedis } from "../support/services.ts";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

async function found(store: Store): Promise<readonly string[]> {
  return (await diagnose({ ichido: { store } })).map(({ code }) => code);
}

describeWith("redis", "doctor on Redis", () => {
  const persistent = { appendonly: "yes", appendfsync: "always" };

  async function server(config: Readonly<Record<string, string | number>>): Promise<string> {
    const instance = await startRedis({ config });
    ends.push(() => instance.stop());
    return instance.url;
  }

  function open(url: string, options?: RedisStoreOptions, username?: string): Store {
    const client = new Redis(url, { ...(username && { username, password: "secret" }), lazyConnect: false });
    client.on("error", () => undefined);
    ends.push(() => client.disconnect());
    return redisStore(client, options);
  }

  test("a right set-up has no finding; eviction, not-persistent and snapshots alone are found as they are set", async () => {
    const url = await server(persistent);
    const admin = new Redis(url);
    ends.push(() => admin.disconnect());
    expect(await found(open(url))).toEqual([]);
    await admin.config("SET", "maxmemory-policy", "allkeys-lru");
    expect(await found(open(url))).toEqual(["eviction"]);
    await admin.config("SET", "maxmemory-policy", "noeviction");
    await admin.config("SET", "appendonly", "no");
    expect(await found(open(url))).toEqual(["not-persistent"]);
    await admin.config("SET", "save", "3600 1");
    expect(await found(open(url))).toEqual(["not-persistent"]);
  });

  test("standby-asynchronous with a replica, unless writes wait for it; on the replica itself server-read-only", async () => {
    const url = await server(persistent);
    const replica = await server({ ...persistent, replicaof: `127.0.0.1 ${new URL(url).port}` });
    await eventually(async () => expect(await found(open(url))).toEqual(["standby-asynchronous"]), 20_000);
    expect(await found(open(url, { wait: { replicas: 1, timeoutMs: 1_000 } }))).toEqual([]);
    expect(await found(open(replica))).toEqual(["server-read-only"]);
  });

  test("rights-missing and settings-unseen: accounts without the commands", async () => {
    const url = await server(persistent);
    const admin = new Redis(url);
    ends.push(() => admin.disconnect());
    await admin.call("ACL", "SETUSER", "blind", "on", ">secret", "~*", "&*", "+@all", "-info", "-config");
    await admin.call("ACL", "SETUSER", "poor", "on", ">secret", "~*", "&*", "+@all", "-eval", "-evalsha");
    expect(await found(open(url, {}, "blind"))).toEqual(["settings-unseen"]);
    expect(await found(open(url, {}, "poor"))).toEqual(["rights-missing"]);
  });
});

describeWith("mariadb", "doctor on MariaDB", () => {
  test("each fault, on one server that is right at first; a server that says it is old", async () => {
    const folder = mkdtempSync(join(tmpdir(), "ichido-doctor-"));
    ends.push(() => rmSync(folder, { recursive: true, force: true }));
    const right = { "innodb-flush-log-at-trx-commit": 1 };
    const server = await startMariadb({ settings: right });
    ends.push(() => server.stop());
    const pool = createPool({ uri: server.url, connectionLimit: 4 });
    ends.push(() => pool.end());
    const store = mysqlStore(pool);

    expect(await found(store)).toEqual(["schema-missing"]);
    await store.migrate();
    expect(await found(store)).toEqual([]);

    await pool.query("set global innodb_flush_log_at_trx_commit = 2");
    expect(await found(store)).toEqual(["not-durable"]);
    await pool.query("set global innodb_flush_log_at_trx_commit = 1");

    await pool.query("set global read_only = 1");
    expect(await found(store)).toEqual(["server-read-only"]);
    await pool.query("set global read_only = 0");

    await pool.query("alter table ichido_records drop index ichido_records_sweep");
    const [finding] = await diagnose({ ichido: { store } });
    expect(finding?.code).toBe("index-missing");
    await pool.query(finding?.remedy ?? "");
    expect(await found(store)).toEqual([]);

    await pool.query("alter table ichido_audit drop column reason");
    const [drifted] = await diagnose({ ichido: { store } });
    expect(drifted?.code).toBe("schema-drifted");
    await pool.query(drifted?.remedy ?? "");
    expect(await found(store)).toEqual([]);

    await pool.query("create user reader@'127.0.0.1' identified by ''");
    await pool.query("grant select on mysql.* to reader@'127.0.0.1'");
    const poor = new URL(server.url);
    poor.username = "reader";
    const reader = createPool({ uri: poor.href });
    ends.push(() => reader.end());
    expect(await found(mysqlStore(reader))).toEqual(["rights-missing"]);
  }, 60_000);

  test("server-old: a server that says so", async () => {
    const server = await startMariadb({
      settings: { "innodb-flush-log-at-trx-commit": 1, version: "10.3.39-MariaDB" },
    });
    ends.push(() => server.stop());
    const pool = createPool({ uri: server.url });
    ends.push(() => pool.end());
    const store = mysqlStore(pool);
    await store.migrate();
    expect(await found(store)).toEqual(["server-old"]);
  }, 60_000);
});

describe("doctor on SQLite and memory", () => {
  test("a file is right; memory, a weak level and a missing index are found", async () => {
    const folder = mkdtempSync(join(tmpdir(), "ichido-doctor-"));
    ends.push(() => rmSync(folder, { recursive: true, force: true }));
    const database = new DatabaseSync(join(folder, "keys.db"));
    ends.push(() => database.close());
    const store = sqliteStore(database);
    expect(await found(store)).toEqual(["schema-missing"]);
    await store.migrate();
    expect(await found(store)).toEqual([]);
    expect(await found(sqliteStore(database, { synchronous: "normal" }))).toEqual(["not-durable"]);
    database.exec("DROP INDEX ichido_records_open");
    expect(await found(store)).toEqual(["index-missing"]);
    const inMemory = sqliteStore(new DatabaseSync(":memory:"));
    await inMemory.migrate();
    expect(await found(inMemory)).toEqual(["not-durable"]);
    expect(await found(memoryStore())).toEqual(["not-durable"]);
  });
});
