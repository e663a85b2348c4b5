import { chmodSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createConnection } from "mysql2/promise";
import { Redis } from "ioredis";
import { Client } from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { answersAmqp, answersNats } from "../../scripts/services/handshakes.ts";
import { familyOf, isAlive } from "../../scripts/services/process-tree.ts";
import {
  startMariadb,
  startNats,
  startPostgres,
  startRabbitmq,
  startRedis,
  startRedisCluster,
  startStandby,
} from "../support/services.ts";
import type { Instance } from "../support/services.ts";
import { environmentOf, listenersOn } from "./proc.ts";

async function onPostgres<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on("error", () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}

async function expectNothingLeft(instance: Instance, family: readonly number[]): Promise<void> {
  await instance.stop();
  await instance.stop();
  expect(family.filter(isAlive)).toEqual([]);
  expect(existsSync(instance.folder)).toBe(false);
  await expect(instance.restart()).rejects.toThrow(/was stopped/);
}

// Starting and recovering real servers takes its time on a busy machine.
describe("private instances", { timeout: 120_000 }, () => {
  test("PostgreSQL keeps what was committed through SIGKILL and restart, and leaves nothing behind", async () => {
    const server = await startPostgres({ settings: { work_mem: "3MB" } });
    await onPostgres(server.url, async (client) => {
      await client.query("CREATE TABLE kept AS SELECT 42 AS answer");
      expect((await client.query("SHOW work_mem")).rows).toEqual([{ work_mem: "3MB" }]);
    });
    const [before, family] = [server.pid, familyOf(server.pid)];
    expect(family.length).toBeGreaterThan(1);
    await server.kill("SIGKILL");
    expect(family.filter(isAlive)).toEqual([]);
    await expect(onPostgres(server.url, async () => {})).rejects.toThrow(/ECONNREFUSED/);
    await server.restart();
    expect(server.pid).not.toBe(before);
    expect(await onPostgres(server.url, async (client) => (await client.query("TABLE kept")).rows)).toEqual([
      { answer: 42 },
    ]);
    const last = familyOf(server.pid);
    await server.kill("SIGKILL");
    await expectNothingLeft(server, last);
  });

  test("a standby of PostgreSQL has what was committed, and goes on where its primary died", async () => {
    const primary = await startPostgres();
    await onPostgres(primary.url, (client) => client.query("CREATE TABLE kept AS SELECT 1 AS answer"));
    const standby = await startStandby(primary);
    await onPostgres(primary.url, (client) => client.query("INSERT INTO kept VALUES (2)"));
    const answers = async (): Promise<readonly unknown[]> =>
      onPostgres(standby.url, async (client) => (await client.query("TABLE kept")).rows);
    await expect.poll(answers, { timeout: 60_000 }).toEqual([{ answer: 1 }, { answer: 2 }]);
    await primary.kill("SIGKILL");
    await onPostgres(standby.url, async (client) => {
      await client.query("SELECT pg_promote(true, 60)");
      await client.query("INSERT INTO kept VALUES (3)");
    });
    expect(await answers()).toHaveLength(3);
    await expectNothingLeft(primary, []);
    await expectNothingLeft(standby, familyOf(standby.pid));
  });

  test("PostgreSQL in a folder that is given leaves its data there, and another one finds them", async () => {
    const parent = mkdtempSync(join(tmpdir(), "ichido-kept-"));
    onTestFinished(() => rmSync(parent, { recursive: true, force: true }));
    // Its account must be able to go through it.
    chmodSync(parent, 0o755);
    const folder = join(parent, "postgres");
    const first = await startPostgres({ folder });
    await onPostgres(first.url, (client) => client.query("CREATE TABLE kept AS SELECT 42 AS answer"));
    await first.stop();
    const second = await startPostgres({ folder });
    expect(await onPostgres(second.url, async (client) => (await client.query("TABLE kept")).rows)).toEqual([
      { answer: 42 },
    ]);
    const family = familyOf(second.pid);
    await second.stop();
    expect(family.filter(isAlive)).toEqual([]);
    expect(existsSync(folder)).toBe(true);
  });

  test("a paused PostgreSQL answers nobody, a resumed one goes on", async () => {
    const server = await startPostgres();
    await onPostgres(server.url, async (client) => {
      server.pause();
      let answered = false;
      const asked = client.query("SELECT 1").then(() => (answered = true));
      await new Promise((resolve) => setTimeout(resolve, 150));
      expect(answered).toBe(false);
      server.resume();
      expect(await asked).toBe(true);
    });
    server.pause();
    await expectNothingLeft(server, familyOf(server.pid));
  });

  test("MariaDB keeps what was committed through SIGKILL and restart", async () => {
    const server = await startMariadb();
    const first = await createConnection(server.url);
    first.on("error", () => {});
    await first.query("CREATE DATABASE kept");
    await first.query("CREATE TABLE kept.t (answer INT) ENGINE=InnoDB");
    await first.query("INSERT INTO kept.t VALUES (42)");
    await server.kill("SIGKILL");
    await server.restart();
    const second = await createConnection(server.url);
    expect((await second.query("SELECT answer FROM kept.t"))[0]).toEqual([{ answer: 42 }]);
    await second.end();
    first.destroy();
    await expectNothingLeft(server, familyOf(server.pid));
  });

  test("Redis takes its configuration, and forgets or keeps accordingly", async () => {
    const server = await startRedis({
      config: { appendonly: "yes", appendfsync: "always", "maxmemory-policy": "noeviction" },
    });
    const client = new Redis(server.url, { lazyConnect: true, maxRetriesPerRequest: 50, retryStrategy: () => 20 });
    client.on("error", () => {});
    await client.set("kept", "42");
    expect(await client.config("GET", "maxmemory-policy")).toEqual(["maxmemory-policy", "noeviction"]);
    await server.kill("SIGKILL");
    await server.restart();
    expect(await client.get("kept")).toBe("42");
    client.disconnect();
    await expectNothingLeft(server, familyOf(server.pid));
  });

  test("a Redis cluster has six nodes and serves every slot", async () => {
    const cluster = await startRedisCluster();
    expect(cluster.nodes).toHaveLength(6);
    const client = new Redis.Cluster([...cluster.urls]);
    await Promise.all(Array.from({ length: 50 }, (_, index) => client.set(`key ${index}`, index)));
    expect(client.nodes("master")).toHaveLength(3);
    expect(await client.get("key 49")).toBe("49");
    client.disconnect();
    const pids = cluster.nodes.map((node) => node.pid);
    await cluster.stop();
    expect(pids.filter(isAlive)).toEqual([]);
  });

  test("NATS comes with JetStream and comes back after SIGKILL", async () => {
    const server = await startNats();
    expect(await answersNats(server.url)).toBe(true);
    await server.kill("SIGKILL");
    await expect(answersNats(server.url)).rejects.toThrow(/ECONNREFUSED|closed/);
    await server.restart();
    expect(await answersNats(server.url)).toBe(true);
    await expectNothingLeft(server, familyOf(server.pid));
  });

  test("RabbitMQ comes back after SIGKILL, and takes its name server with it when it ends", async () => {
    const server = await startRabbitmq();
    expect(await answersAmqp(server.url)).toBe(true);
    await server.kill("SIGKILL");
    await server.restart();
    expect(await answersAmqp(server.url)).toBe(true);
    const namesPort = Number(/ERL_EPMD_PORT=(\d+)/.exec(environmentOf(server.pid))?.[1]);
    const pids = [...familyOf(server.pid), ...listenersOn(namesPort)];
    expect(listenersOn(namesPort)).toHaveLength(1);
    await expectNothingLeft(server, pids);
  });
});
