/** What `ichido init` writes compiles, and runs: paid once, answered again, refused with other content. */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { transform } from "esbuild";
import { spawnChild, type Child } from "ichido/testing";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import {
  firstProgram,
  frameworkNames,
  type FrameworkName,
} from "../../packages/ichido/src/cli/first-program/program.ts";
import { storeNames, type StoreName } from "../../packages/ichido/src/cli/first-program/stores.ts";
import { root } from "../repo/tracked.ts";
import { freshDatabase, mariadbUrl, postgresUrl, startRedis } from "../support/services.ts";
import { ichidoHere, ichidoIn, linesOf } from "./command-line.ts";

const place = mkdtempSync(join(tmpdir(), "ichido-init-"));
symlinkSync(join(root, "node_modules"), join(place, "node_modules"));
const ended: (() => unknown)[] = [];
let child: Child | undefined;
afterEach(async () => {
  await child?.stop();
  for (const end of ended.splice(0)) await end();
});
afterAll(() => rmSync(place, { recursive: true, force: true }));

function project(name: string, manifest: object = { type: "module" }): string {
  const folder = join(place, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  return folder;
}

const pairs = frameworkNames.flatMap((framework) => storeNames.map((store) => [framework, store] as const));

describe("ichido init", () => {
  it("writes programs that compile under strict, for every framework and store", async () => {
    for (const [framework, store] of pairs) {
      const folder = project(`strict/${framework}-${store}`);
      for (const { path, text } of firstProgram(framework, store, "ts")) {
        mkdirSync(join(folder, path, ".."), { recursive: true });
        writeFileSync(join(folder, path), text);
      }
    }
    const compilerOptions = {
      target: "es2023",
      lib: ["es2024", "dom", "dom.iterable"],
      module: "nodenext",
      customConditions: ["ichido-source"],
      types: ["node"],
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      exactOptionalPropertyTypes: true,
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
      isolatedModules: true,
      allowImportingTsExtensions: true,
    };
    writeFileSync(join(place, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["strict"] }));
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const printed = await promisify(execFile)(process.execPath, [tsc, "-p", ".", "--pretty", "false"], {
      cwd: place,
    }).then(
      () => "",
      (error: { stdout: string }) => error.stdout,
    );
    expect(printed).toBe("");
    expect(pairs).toHaveLength(28);
  }, 120_000);

  it("tells framework and store by package.json, and takes what is said instead", async () => {
    const nest = project("detect", {
      type: "module",
      dependencies: { express: "5", "@nestjs/core": "12", ioredis: "6" },
    });
    const seen = async (...args: readonly string[]) =>
      linesOf((await ichidoHere({ cwd: nest }, "init", "--dry-run", "--json", ...args)).out).at(-1);
    expect(await seen()).toMatchObject({ framework: "nest", store: "redis" });
    expect(await seen("--framework", "koa", "--store", "mysql")).toMatchObject({ framework: "koa", store: "mysql" });
    expect(readdirSync(nest)).toEqual(["package.json"]);
    const bare = await ichidoHere({ cwd: project("bare", {}) }, "init", "--dry-run");
    expect(bare.out).toMatch(/^\/\/ ichido\.mts\n[^]*\/\/ ichido\.config\.mts\n[^]*\/\/ server\.mts\n/);
    expect(bare.err).toMatch(
      /^node with sqlite\. Next:\n {2}npm install ichido\n[^]*npx ichido migrate\n {2}node server\.mts\n/,
    );
    expect((await ichidoHere({ cwd: nest }, "init", "--framework", "rails")).code).toBe(2);
  });

  it("never overwrites a file: nothing is written then, and the code is 5", async () => {
    const folder = project("there");
    writeFileSync(join(folder, "server.ts"), "mine");
    const { code, err } = await ichidoHere({ cwd: folder }, "init");
    expect([code, err]).toEqual([5, expect.stringMatching(/server\.ts is there already, and nothing was written/)]);
    expect(readdirSync(folder).toSorted()).toEqual(["package.json", "server.ts"]);
    expect(readFileSync(join(folder, "server.ts"), "utf8")).toBe("mine");
  });
});

const servers: Readonly<Record<StoreName, () => Promise<Readonly<Record<string, string>>>>> = {
  sqlite: async () => ({}),
  postgres: async () => database(await postgresUrl()),
  mysql: async () => database(await mariadbUrl()),
  // Of its own: a first program has the usual prefix, which others may have, too.
  redis: async () => {
    const server = await startRedis();
    ended.push(() => server.stop());
    return { REDIS_URL: server.url };
  },
};

async function database(url: string): Promise<Readonly<Record<string, string>>> {
  const fresh = await freshDatabase(url);
  ended.push(() => fresh.drop());
  return { DATABASE_URL: fresh.url.replace(/^mariadb:/, "mysql:") };
}

/** What its own tools would make of it: Next.js serves its route, a compiler takes the decorators out. */
async function entryOf(framework: FrameworkName, folder: string, ending: string): Promise<string> {
  if (framework === "next") {
    const text = `import { serve } from "@hono/node-server";
import { POST } from "./app/payments/route.ts";
serve({ fetch: (request) => POST(request), port: Number(process.env["PORT"]), hostname: "127.0.0.1" }, (address) => {
  console.log(\`listening on \${JSON.stringify(address)}\`);
});
`;
    writeFileSync(join(folder, "run.ts"), text);
    return "run.ts";
  }
  if (framework !== "nest") return `server.${ending}`;
  const tsconfigRaw = { compilerOptions: { experimentalDecorators: true } };
  const source = readFileSync(join(folder, `main.${ending}`), "utf8");
  const { code } = await transform(source, { loader: "ts", format: "esm", tsconfigRaw });
  writeFileSync(join(folder, "main.mjs"), code);
  return "main.mjs";
}

/** Each framework, and each store, once: a process costs more than a second. `npm init -y` writes `commonjs`. */
const runs: readonly (readonly [FrameworkName, StoreName, string])[] = [
  ["express", "sqlite", "commonjs"],
  ["fastify", "postgres", "module"],
  ["hono", "mysql", "module"],
  ["koa", "redis", "module"],
  ["nest", "sqlite", "module"],
  ["next", "sqlite", "module"],
  ["node", "sqlite", "module"],
];

/** The address of the store that the program has by itself. */
function addressOf(folder: string, env: Readonly<Record<string, string>>): string {
  return env["DATABASE_URL"] ?? env["REDIS_URL"] ?? join(folder, "keys.db");
}

describe("the first program", () => {
  it.each(runs)(
    "in %s with %s in a %s package pays once, after ichido migrate",
    async (framework, store, type) => {
      const folder = project(`run-${framework}-${store}-${type}`, { type });
      const env = await servers[store]();
      const written = await ichidoHere({ cwd: folder }, "init", "--framework", framework, "--store", store);
      expect(written.code).toBe(0);
      // One by the configuration that was written, in a process of its own.
      const isWhole = framework === "express";
      const migrated = isWhole
        ? await ichidoIn({ cwd: folder, env }, "migrate")
        : await ichidoHere({ cwd: folder }, "migrate", "--store", addressOf(folder, env));
      expect([migrated.code, migrated.err]).toEqual([0, expect.stringMatching(/applied|no tables/)]);
      const entry = await entryOf(framework, folder, type === "module" ? "ts" : "mts");
      child = await spawnChild(pathToFileURL(join(folder, entry)), { cwd: folder, env: { PORT: "0", ...env } });
      const [, port = ""] = await child.waitFor(/^listening on .*"port":(\d+)/, 60_000);
      const key = `first-${Date.now()}`;
      const pay = async (amount: number, headers: object = {}) => {
        const response = await fetch(`http://127.0.0.1:${port}/payments`, {
          method: "POST",
          headers: {
            authorization: "Bearer ann-token",
            "content-type": "application/json",
            "idempotency-key": `"${key}"`,
            ...headers,
          },
          body: JSON.stringify({ amount }),
        });
        return [response.status, response.headers.get("idempotency-replayed"), await response.text()] as const;
      };
      const first = await pay(100);
      expect(first).toEqual([201, null, expect.stringMatching(/"amount":100,"reference":"/)]);
      expect(await pay(100)).toEqual([201, "true", first[2]]);
      expect((await pay(200))[0]).toBe(422);
      expect((await pay(100, { authorization: "Bearer nobody" }))[0]).toBe(401);
      if (!isWhole) return;
      // The commands use the program's own engine: nothing is said twice.
      const listed = await ichidoIn({ cwd: folder, env }, "keys", "list", "--principal", "ann");
      expect(listed.out).toMatch(/completed 201 +payment\.create +ann/);
    },
    120_000,
  );
});
