/**
 * Where a server's keys live: a server in POSTGRES_URL, MARIADB_URL or REDIS_URL, or else a private one that is started
 * here and waits for the disk at each commit; a database of its own for each candidate; a file for SQLite.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDatabase, dropDatabase } from "../../scripts/services/database.ts";
import type { Instance } from "../../scripts/services/instance.ts";
import { startMariadb } from "../../scripts/services/mariadb.ts";
import { startPostgres } from "../../scripts/services/postgres.ts";
import { startRedis } from "../../scripts/services/redis.ts";
import type { Server } from "./catalogue.ts";
import { openRedis } from "./drivers.ts";

export interface Place {
  readonly url: string;
  /** Of the store's server, where it is ours to look at. */
  readonly pid?: number | undefined;
}

const starters = {
  postgres: () => startPostgres({ settings: { fsync: "on", full_page_writes: "on", shared_buffers: "256MB" } }),
  mariadb: () => startMariadb({ settings: { "innodb-flush-log-at-trx-commit": 1, "innodb-buffer-pool-size": "256M" } }),
  redis: () => startRedis({ config: { appendonly: "yes", appendfsync: "everysec" } }),
};
type Name = keyof typeof starters;

const isService = (name: string): name is Name => name in starters;

const settings: Readonly<Record<Name, string>> = {
  postgres: "fsync on",
  mariadb: "flush at commit",
  redis: "appendonly, fsync every second",
};

export class Services {
  readonly #folder = mkdtempSync(join(tmpdir(), "ichido-bench-http-"));
  readonly #instances = new Map<Name, Instance>();
  readonly #given = new Set<Name>();
  readonly #redisTaken = new Set<number>();
  readonly #cleaners: (() => Promise<unknown>)[] = [];

  /** Undefined where the store's server can be had. */
  async whyMissing({ store }: Server): Promise<string | undefined> {
    if (!isService(store)) return undefined;
    try {
      await this.#server(store);
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  async placeOf({ store, name }: Server): Promise<Place> {
    if (store === "sqlite") return { url: join(this.#folder, `${name}.db`) };
    if (!isService(store)) return { url: "" };
    const { url, pid } = await this.#server(store);
    const database = store === "redis" ? await this.#emptyRedis(url) : await this.#database(url);
    const place = new URL(url);
    place.pathname = `/${database}`;
    return { url: place.href, pid };
  }

  async #server(name: Name): Promise<Place> {
    const given = process.env[`${name.toUpperCase()}_URL`] ?? "";
    if (given !== "") {
      this.#given.add(name);
      return { url: given };
    }
    const instance = this.#instances.get(name) ?? (await starters[name]());
    this.#instances.set(name, instance);
    return { url: instance.url, pid: instance.pid };
  }

  async #database(server: string): Promise<string> {
    const name = `ichido_bench_${randomBytes(4).toString("hex")}`;
    await createDatabase(server, name);
    this.#cleaners.push(() => dropDatabase(server, name));
    return name;
  }

  /** One in which nobody keeps anything, so that it can be emptied again. */
  async #emptyRedis(url: string): Promise<number> {
    const client = await openRedis(url);
    try {
      for (let number = 1; number < 16; number += 1) {
        await client.select(number);
        if (this.#redisTaken.has(number) || (await client.dbsize()) > 0) continue;
        this.#redisTaken.add(number);
        this.#cleaners.push(() => emptyRedis(url, number));
        return number;
      }
      throw new Error("no empty database on the Redis server");
    } finally {
      client.disconnect();
    }
  }

  /** The servers that took part. */
  described(): string {
    const own = [...this.#instances.keys()].map((name) => `${name}: private, ${settings[name]}`);
    const given = [...this.#given].map((name) => `${name}: ${name.toUpperCase()}_URL`);
    return [...own, ...given, "sqlite: synchronous FULL"].join("; ");
  }

  async close(): Promise<void> {
    for (const clean of this.#cleaners) await clean();
    for (const instance of this.#instances.values()) await instance.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function emptyRedis(url: string, number: number): Promise<void> {
  const client = await openRedis(url);
  await client.select(number);
  await client.flushdb();
  client.disconnect();
}
