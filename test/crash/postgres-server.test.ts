/** The PostgreSQL store on a server that cannot take writes: a standby, a read-only session, a full disk. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgresStore } from "ichido/postgres";
import { sampleIdentity, sampleResponse } from "ichido/testing";
import { giveToServer, isRoot } from "../../scripts/services/account.ts";
import { launch } from "../../scripts/services/instance.ts";
import { postgresPrograms } from "../../scripts/services/postgres-binaries.ts";
import { grant, request } from "../stores/postgres-life.ts";
import { startPostgres } from "../support/services.ts";
import type { Instance } from "../support/services.ts";

const pools: pg.Pool[] = [];

function newPool(url: string, options: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, ...options });
  pool.on("error", () => {});
  pools.push(pool);
  return pool;
}

afterAll(() => Promise.all(pools.map((pool) => pool.end())));

/** A copy of a server that was shut down properly, told to follow it. */
async function startStandby(primary: Instance): Promise<Instance> {
  const { postgres } = postgresPrograms();
  return launch({
    name: "postgres-standby",
    prepare(folder) {
      spawnSync("cp", ["-a", join(primary.folder, "data"), join(folder, "data")]);
      writeFileSync(join(folder, "data", "standby.signal"), "");
    },
    command: (folder, port) => ({
      program: postgres,
      args: [
        "-D",
        join(folder, "data"),
        "-p",
        `${port}`,
        ...Object.entries({
          listen_addresses: "127.0.0.1",
          unix_socket_directories: "",
          max_connections: 200,
          dynamic_shared_memory_type: "mmap",
          primary_conninfo: `host=127.0.0.1 port=${primary.port} user=postgres`,
        }).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
      ],
    }),
    url: (port) => `postgres://postgres@127.0.0.1:${port}/postgres`,
    async ready(url) {
      const client = new pg.Client({ connectionString: url });
      client.on("error", () => {});
      await client.connect();
      const { rows } = await client.query("select pg_is_in_recovery() as standby");
      await client.end();
      return (rows[0] as { standby: boolean }).standby;
    },
    endSignal: "SIGQUIT",
  });
}

describe("postgres, servers that only read", () => {
  let primary: Instance;
  let standby: Instance;
  beforeAll(async () => {
    primary = await startPostgres();
    const store = postgresStore(newPool(primary.url));
    await store.migrate();
    const claim = await grant(store, request("done", "a"));
    await store.complete({ ...claim, response: sampleResponse() });
    await primary.kill("SIGINT");
    standby = await startStandby(primary);
    await primary.restart();
  });
  afterAll(async () => {
    await standby.stop();
    await primary.stop();
  });

  it("S18 a hot standby is refused by ping, and by every verb that decides, replays included", async () => {
    const store = postgresStore(newPool(standby.url));
    const asked = request("key", "a");
    const claim = { ...asked, fence: 1 };
    const calls: Readonly<Record<string, () => Promise<unknown>>> = {
      ping: () => store.ping(),
      "claim of a new key": () => store.claim(asked),
      complete: () => store.complete({ ...claim, response: sampleResponse() }),
      release: () => store.release(claim),
      startStep: () => store.startStep({ ...claim, name: "s" }),
      find: () => store.find(sampleIdentity("done")),
      steps: () => store.steps(sampleIdentity("done")),
      tick: () => store.tick({ intervalMs: 1_000 }),
      "claim of an answered key": () => store.claim(request("done", "b")),
    };
    for (const [what, call] of Object.entries(calls)) {
      await expect(call(), what).rejects.toMatchObject({
        code: "store-unavailable",
        message: expect.stringMatching(/standby/) as string,
      });
    }
    // It does hold the record: it was refused for what it is, not for what it lacks.
    const { rows } = await newPool(standby.url).query("select state from ichido_records");
    expect(rows).toEqual([{ state: "completed" }]);
  });

  it("S18 a read-only session is refused like a standby", async () => {
    const store = postgresStore(newPool(primary.url, { options: "-c default_transaction_read_only=on" }));
    await expect(store.ping()).rejects.toMatchObject({
      code: "store-unavailable",
      message: expect.stringMatching(/read-only/) as string,
    });
    await expect(store.claim(request("key", "a"))).rejects.toMatchObject({ code: "store-unavailable" });
  });
});

/** A file system of its own, small enough to be filled. */
function smallDisk(megabytes: number): { readonly folder: string; remove(): void } | undefined {
  if (!isRoot()) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "ichido-small-"));
  const { status } = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=700`, "tmpfs", folder]);
  if (status !== 0) {
    rmSync(folder, { recursive: true });
    return undefined;
  }
  giveToServer(folder);
  return {
    folder,
    remove() {
      spawnSync("umount", ["-l", folder]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

describe("postgres, a full disk", () => {
  it("S1 new keys are refused while nothing can be written, replays go on, and room makes it well again", async ({
    skip,
  }) => {
    const disk = smallDisk(2);
    if (disk === undefined) return skip("a disk that can be filled needs root and the right to mount");
    const server = await startPostgres();
    try {
      await fillAndRecover(server.url, disk.folder);
    } finally {
      await server.stop();
      disk.remove();
    }
  }, 60_000);
});

async function fillAndRecover(url: string, folder: string): Promise<void> {
  const pool = newPool(url);
  const store = postgresStore(pool);
  await store.migrate();
  await pool.query(`create tablespace small location '${folder}'`);
  await pool.query("alter table ichido_records set tablespace small");
  const kept = await grant(store, request("kept", "a"));
  expect(await store.complete({ ...kept, response: sampleResponse() })).toBe("ok");
  const running = await grant(store, request("running", "a"));

  let refusal: unknown;
  let granted = 0;
  // Labels are stored with the record, at first sight.
  const labels = { note: "0123456789abcdef".repeat(60) };
  for (let index = 0; index < 5_000 && refusal === undefined; index += 1) {
    await store.claim(request(`fill-${index}`, "a", { labels })).then(
      () => (granted += 1),
      (error: unknown) => (refusal = error),
    );
  }
  expect(refusal).toMatchObject({ code: "store-unavailable", message: expect.stringMatching(/53100/) as string });
  expect(granted).toBeGreaterThan(100);
  expect((await store.claim(request("kept", "b"))).outcome).toBe("completed");
  expect((await store.claim(request("running", "b"))).outcome).toBe("processing");
  expect(await store.find(sampleIdentity(`fill-${granted}`))).toBeUndefined();

  await pool.query("alter table ichido_records set tablespace pg_default");
  expect((await store.claim(request(`fill-${granted}`, "b"))).outcome).toBe("granted");
  expect(await store.complete({ ...running, response: sampleResponse() })).toBe("ok");
}
