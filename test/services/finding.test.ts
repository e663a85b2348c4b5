import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { spawnChild } from "ichido/testing";
import { Redis } from "ioredis";
import { Client } from "pg";
import { describe, expect, test } from "vitest";
import {
  answersAmqp,
  answersMariadb,
  answersNats,
  answersPostgres,
  answersRedis,
} from "../../scripts/services/handshakes.ts";
import { findService } from "../../scripts/services/find.ts";
import { startHost } from "../../scripts/services/host.ts";
import { freePort } from "../../scripts/services/instance.ts";
import { isAlive } from "../../scripts/services/process-tree.ts";
import { root } from "../repo/tracked.ts";
import { eventually } from "../support/eventually.ts";
import { describeWith, freshDatabase, startRedis } from "../support/services.ts";

async function withVariables<T>(
  variables: Readonly<Record<string, string | undefined>>,
  work: () => Promise<T>,
): Promise<T> {
  const before = { ...process.env };
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  try {
    return await work();
  } finally {
    process.env = before;
  }
}

describe("finding a server", () => {
  const quiet = (): void => {};

  test("takes the address in the variable when the server there answers", async () => {
    const redis = await startRedis();
    const found = await withVariables({ REDIS_URL: redis.url }, () => findService("redis", quiet));
    expect(found).toEqual({ url: redis.url, how: "REDIS_URL" });
    await redis.stop();
  });

  test("does not look elsewhere when the given address does not answer: it says so", async () => {
    const port = await freePort();
    const found = await withVariables({ REDIS_URL: `redis://127.0.0.1:${port}` }, () => findService("redis", quiet));
    expect(found).toMatchObject({ reason: expect.stringMatching(/REDIS_URL is set, but .*ECONNREFUSED/) });
  });

  test("starts a private instance where nothing is to be used", async () => {
    const found = await withVariables({ REDIS_URL: undefined, ICHIDO_PRIVATE_SERVICES: "1" }, () =>
      findService("redis", quiet),
    );
    if (!("instance" in found)) throw new Error("no instance");
    expect(found.how).toBe("private instance");
    expect(await answersRedis(found.url)).toBe(true);
    await found.instance.stop();
  });

  test("looks once for many askers, and ends what it started", async () => {
    const said: string[] = [];
    const url = await withVariables({ REDIS_URL: undefined, ICHIDO_PRIVATE_SERVICES: "1" }, async () => {
      const host = await startHost((line) => said.push(line));
      const ask = async (): Promise<unknown> => (await fetch(`${host.address}/shared/redis`)).json();
      const answers = await Promise.all([ask(), ask(), ask()]);
      expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
      await host.close();
      return (answers[0] as { url: string }).url;
    });
    expect(said).toEqual(["redis: private instance"]);
    await expect(answersRedis(url)).rejects.toThrow(/ECONNREFUSED/);
  });
});

describe("handshakes", () => {
  test.each([
    ["PostgreSQL", "postgres", answersPostgres],
    ["MariaDB", "mysql", answersMariadb],
    ["NATS", "nats", answersNats],
    ["RabbitMQ", "amqp", answersAmqp],
  ] as const)("a Redis does not pass for a %s", async (_title, scheme, answers) => {
    const redis = await startRedis();
    const passed = await answers(`${scheme}://127.0.0.1:${redis.port}/x`).catch(() => false);
    expect(passed).toBe(false);
    await redis.stop();
  });

  test("a port that accepts and says nothing does not pass", async () => {
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const address = silent.address();
    const port = typeof address === "object" ? address?.port : 0;
    await expect(answersRedis(`redis://127.0.0.1:${port}`)).rejects.toThrow(/did not answer/);
    silent.close();
  });

  test("a Redis that wants a password passes only with it", async () => {
    const redis = await startRedis();
    const client = new Redis(redis.url);
    await client.config("SET", "requirepass", "secret");
    client.disconnect();
    expect(await answersRedis(redis.url)).toBe(false);
    expect(await answersRedis(redis.url.replace("//", "//:wrong@"))).toBe(false);
    expect(await answersRedis(redis.url.replace("//", "//:secret@"))).toBe(true);
    await redis.stop();
  });
});

describe("a suite that needs a server", () => {
  const sample = join(root, "test/services/sample");
  const run = (variables: Readonly<Record<string, string>>): Promise<string> =>
    new Promise((resolve) => {
      const { CI: _ci, REQUIRE_SERVICES: _require, ...clean } = process.env;
      const args = ["scripts/launch.mjs", "scripts/test.ts", "--root", sample, "needs"];
      execFile(
        process.execPath,
        args,
        { cwd: root, env: { ...clean, NATS_URL: "nats://127.0.0.1:1", ...variables } },
        (_error, stdout) => resolve(stdout),
      );
    });

  test("is skipped loudly where the server is missing", async () => {
    const printed = await run({});
    expect(printed).toMatch(/nats: MISSING, NATS_URL is set/);
    expect(printed).toMatch(/skipped: needs NATS SKIPPED: no nats for tests: NATS_URL is set/);
    expect(printed.trimEnd().split("\n").at(-1)).toBe("0 passed, 0 failed, 1 skipped");
  });

  test.each([{ CI: "true" }, { REQUIRE_SERVICES: "1" }])("fails where servers are required: %o", async (variables) => {
    const printed = await run(variables);
    expect(printed.trimEnd().split("\n").at(-1)).toBe("0 passed, 1 failed");
  });
});

describeWith("postgres", "what a killed process leaves behind", (url) => {
  const exists = async (name: string): Promise<boolean> => {
    const client = new Client({ connectionString: url });
    await client.connect();
    const { rowCount } = await client.query("SELECT FROM pg_database WHERE datname = $1", [name]);
    await client.end();
    return rowCount === 1;
  };

  test("is nothing: servers end, folders and databases go", async () => {
    const owner = await spawnChild(new URL("./programs/owner.ts", import.meta.url), {
      args: [url],
      readyPattern: /^ready/,
    });
    const [line = ""] = owner.lines.filter((text) => text.startsWith("ready"));
    const { servers, database } = JSON.parse(line.slice(6)) as {
      servers: { pid: number; folder: string }[];
      database: string;
    };
    expect(servers.map(({ pid, folder }) => [isAlive(pid), existsSync(folder)])).toEqual([
      [true, true],
      [true, true],
    ]);
    expect(await exists(database)).toBe(true);
    await owner.kill("SIGKILL");
    await eventually(
      () => expect(servers.map(({ pid, folder }) => isAlive(pid) || existsSync(folder))).toEqual([false, false]),
      15_000,
    );
    await eventually(async () => expect(await exists(database)).toBe(false), 15_000);
  });

  test("a fresh database is empty, one's own, and gone after its use although a client is still connected", async () => {
    const database = await freshDatabase(url);
    const client = new Client({ connectionString: database.url });
    client.on("error", () => {});
    await client.connect();
    expect((await client.query("SELECT FROM pg_tables WHERE schemaname = 'public'")).rowCount).toBe(0);
    expect(await exists(database.name)).toBe(true);
    await database.drop();
    await database.drop();
    expect(await exists(database.name)).toBe(false);
  });
});
