/** What the command refuses, and what it shows of an address while it does. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ichidoHere, linesOf } from "./command-line.ts";

const secret = "hunter2";
/** A port on which nobody listens. */
const closed = "127.0.0.1:1";

describe("an address that cannot be used", () => {
  it.each([
    `postgres://shop:${secret}@${closed}/shop`,
    `postgres://shop:${secret}/x@${closed}/shop`,
    `postgres://shop:${secret}@${closed}:no-port/shop`,
    `mysql://shop:${secret}@${closed}/shop`,
    `mysql://shop:${secret}@${closed}:no-port/shop`,
    `redis://:${secret}@${closed}:no-port/0`,
    `'postgres://shop:${secret}@${closed}/shop'`,
    ` postgres://shop:${secret}@${closed}/shop`,
    `mongodb://shop:${secret}@${closed}/shop`,
  ])("%s is told of without its password, to people and to programs", async (address) => {
    for (const more of [[], ["--json"]]) {
      const { code, out, err } = await ichidoHere({}, "status", "--store", address, ...more);
      expect(code).not.toBe(0);
      expect(out + err).not.toContain(secret);
    }
  });
});

describe("an address that is no URL", () => {
  it.each([
    `postgres://shop:${secret}@db:no-port/shop`,
    `postgres://shop:${secret}@db:99999/shop`,
    `mysql://shop:${secret}@db:no-port/shop`,
    `mysql://shop:${secret}%zz@db/shop`,
    `redis://:${secret}@db:no-port/0`,
    `redis://:${secret}%zz@db/0`,
  ])("%s is refused with 2 by every command, with what is expected", async (address) => {
    for (const command of [["doctor"], ["status"], ["keys", "list"]]) {
      const { code, out, err } = await ichidoHere({}, ...command, "--store", address);
      expect([code, out, err]).toEqual([
        2,
        "",
        expect.stringMatching(/--store: expected \w+:\/\/host:port\/database .*; got \w+:\/\/.*…@db/),
      ]);
      expect(err).not.toContain(secret);
    }
  });

  it.each([
    `postgres://shop:${secret}@/shop?host=/nowhere`,
    `postgres://shop:${secret}%zz@${closed}/shop`,
    `postgres:///shop?host=/nowhere`,
  ])("%s is one to the driver of PostgreSQL: it is tried", async (address) => {
    expect((await ichidoHere({}, "doctor", "--store", address)).code).toBe(6);
  });
});

describe("an address in quotes, or after a blank", () => {
  it.each([`'postgres://shop@${closed}/shop'`, ` postgres://shop@${closed}/shop`])("%s is no file", async (address) => {
    const { code, err } = await ichidoHere({}, "status", "--store", address);
    expect([code, err]).toEqual([2, expect.stringContaining("--store: an address stands in quotes or after a blank")]);
  });
});

describe("what a driver or a configuration says of an address that it could not read", () => {
  it("is shown without the password", async () => {
    const folder = mkdtempSync(join(tmpdir(), "ichido-quoting-"));
    try {
      writeFileSync(
        join(folder, "ichido.config.mjs"),
        `throw new Error("bad url postgres://shop:${secret}@db/shop");\n`,
      );
      for (const more of [[], ["--json"]]) {
        const { code, out, err } = await ichidoHere(
          { cwd: folder },
          "status",
          "--config",
          "ichido.config.mjs",
          ...more,
        );
        expect(code).not.toBe(0);
        expect(out + err).toContain("bad url postgres://…@db/shop");
        expect(out + err).not.toContain(secret);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("doctor --only", () => {
  it("tells of a store that it cannot see, whatever was asked for", async () => {
    const args = ["doctor", "--only", "eviction", "--json", "--store", `postgres://${closed}/shop`];
    const { code, out } = await ichidoHere({}, ...args);
    expect(linesOf(out).map((line) => line["code"] ?? line["ok"])).toEqual(["store-unreachable", false]);
    expect(code).toBe(6);
  });

  it("tells of nothing else than what was asked for, and refuses a code that is none", async () => {
    const folder = mkdtempSync(join(tmpdir(), "ichido-doctor-"));
    try {
      const path = join(folder, "empty.db");
      writeFileSync(path, "");
      const all = linesOf((await ichidoHere({}, "doctor", "--json", "--store", path)).out);
      expect(all.map((line) => line["code"])).toContain("schema-missing");
      const some = await ichidoHere({}, "doctor", "--only", "eviction", "--json", "--store", path);
      expect(linesOf(some.out)).toMatchObject([{ type: "summary", findings: 0, ok: true }]);
      const wrong = await ichidoHere({}, "doctor", "--only", "schema-missing,evictoin", "--store", path);
      expect([wrong.code, wrong.err]).toEqual([
        2,
        expect.stringContaining('--only: expected codes of findings, such as schema-missing, got "evictoin"'),
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("a table prefix or a schema beside a configuration", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "ichido-prefix-"));
    writeFileSync(join(folder, "ichido.config.ts"), "throw new Error('must not be read');\n");
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each([
    ["--table-prefix", "by its name", ["--config", "ichido.config.ts"], {}],
    ["--table-prefix", "by the environment", [], { ICHIDO_CONFIG: "ichido.config.ts" }],
    ["--table-prefix", "found in the folder", [], {}],
    ["--schema", "found in the folder", [], {}],
  ])("%s is refused, where that is given %s: it names its own tables", async (flag, _, args, env) => {
    const { code, err } = await ichidoHere({ cwd: folder, env }, "status", flag, "mine_", ...args);
    expect([code, err]).toEqual([
      2,
      expect.stringContaining(`${flag}: goes with --store; a configuration names its own tables`),
    ]);
  });
});
