/** Where a command gets its engine from, as a process of its own. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createIchido, type Identity } from "ichido";
import { sqliteStore } from "ichido/sqlite";
import { openSqliteStore } from "ichido/sqlite";
import { spawnChild } from "ichido/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chooseProject } from "../../packages/ichido/src/cli/project.ts";
import { recordNames } from "../../packages/ichido/src/operations/masked-key.ts";
import { root } from "../repo/tracked.ts";
import { ichidoHere, ichidoIn, linesOf } from "./command-line.ts";

const folder = mkdtempSync(join(tmpdir(), "ichido-config-"));
const project = join(folder, "project");
const below = join(project, "src/deep");
const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);

beforeAll(() => {
  mkdirSync(below, { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  write("ichido.config.mjs", "throw new Error('a file beyond the project was run');");
  write("project/package.json", '{"type":"module"}');
  write(
    "project/ichido.config.ts",
    `import { DatabaseSync } from "node:sqlite";
import { createIchido, type Ichido, type ReconcileRequest, type VerifyAnswer } from "ichido";
import { defineConfig } from "ichido/config";
import { createInbox } from "ichido/inbox";
import { createOutbox } from "ichido/outbox";
import { sqliteStore } from "ichido/sqlite";
import { nodeSqliteTransactions } from "ichido/transactions";

const verify = ({ identity }: ReconcileRequest): VerifyAnswer =>
  identity.key.startsWith("seen") ? { verdict: "found", response: { status: 201, body: { id: 1 } } } : { verdict: "not-visible-yet" };

export default defineConfig(async () => {
  const database = new DatabaseSync(new URL("own.db", import.meta.url).pathname);
  const transactions = nodeSqliteTransactions(database);
  const tablePrefix = "mine_";
  const ichido: Ichido<never> = createIchido({
    store: sqliteStore(database, { tablePrefix }),
    scope: () => ({ principal: "p" }),
    onUnknown: "hold",
    operationIdSecret: "a secret of the program, long enough to be one",
    probes: {
      charged: () => [{ id: "ch_9" }],
      nothing: () => [],
      away: () => Promise.reject(new Error("the bank is away")),
    },
  });
  setInterval(() => undefined, 1_000); // what a program leaves running must not keep a command alive
  return {
    ichido,
    outbox: createOutbox({ transactions, topics: {}, source: "/shop", tablePrefix }),
    inbox: createInbox({ transactions, retentionMs: 86_400_000, tablePrefix }),
    reconciler: { operations: { "payment.create": { verify } } },
    close() {
      console.error("closed");
      database.close();
    },
  };
});
`,
  );
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("ichido.config.ts", () => {
  it("is found from a folder below, gives the program's own tables, and is closed in the end", async () => {
    const migrated = await ichidoIn({ cwd: below }, "migrate", "--json");
    expect([migrated.code, migrated.err]).toEqual([0, expect.stringMatching(/^\d+ applied\nclosed\n$/)]);
    expect(new Set(linesOf(migrated.out).map(({ part }) => part))).toEqual(new Set(["records", "outbox", "inbox"]));
    const database = new DatabaseSync(join(project, "own.db"));
    const tables = database.prepare(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'mine_%' AND name NOT LIKE 'sqlite_%'",
    );
    expect(tables.all()).toEqual([]);
    database.close();
  });

  it("is what export writes the tables of: those of its store, outbox and inbox, under their own names", async () => {
    const { code, out } = await ichidoIn({ cwd: below }, "export", "--json");
    expect(code).toBe(0);
    const files = linesOf(out).map(({ name, text }) => [String(name), String(text)] as const);
    expect(new Set(files.map(([name]) => name.split("_")[1]))).toEqual(new Set(["records", "outbox", "inbox"]));
    const database = new DatabaseSync(":memory:");
    for (const [, text] of files) database.exec(text);
    const names = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
    expect(names.all().filter(({ name }) => !String(name).startsWith("mine_"))).toEqual([]);
    expect(names.all().length).toBeGreaterThan(5);
    database.close();
    const other = await ichidoIn({ cwd: below }, "export", "--dialect", "postgres");
    expect([other.code, other.err]).toEqual([
      2,
      expect.stringMatching(/the records of the configuration is on sqlite/),
    ]);
  });

  it("lets stats, sweep, reconcile and outbox use the parts that it names", async () => {
    const stats = linesOf((await ichidoIn({ cwd: project }, "stats", "--json")).out)[0];
    expect(stats).toMatchObject({ records: { records: 0 }, outbox: { pending: 0 }, inbox: { dead: 0 } });
    const swept = await ichidoIn({ cwd: project }, "sweep", "--json");
    expect(linesOf(swept.out).map(({ part }) => part)).toEqual(["records", "outbox", "inbox"]);
  });

  it("reconcile asks verify about what is in doubt; 3 while something stays open, 0 when nothing does", async () => {
    const store = await openSqliteStore(join(project, "own.db"), { tablePrefix: "mine_" });
    const verify = () => ({ verdict: "not-visible-yet" as const });
    const ichido = createIchido({ store, scope: () => ({ principal: "p" }), onUnknown: { verify } });
    for (const key of ["seen-4f6c2b1e8a44", "open-4f6c2b1e8a44"]) {
      const request = { operation: "payment.create", scope: { principal: "p" }, key };
      await ichido.run(request, () => Promise.reject(new Error("lost"))).catch(() => undefined);
    }
    await ichido.close();
    const trial = await ichidoIn({ cwd: project }, "reconcile", "--dry-run", "--json");
    expect([trial.code, linesOf(trial.out).length]).toEqual([3, 2]);
    const young = await ichidoIn({ cwd: project }, "reconcile", "--older-than", "1h", "--json");
    expect([young.code, linesOf(young.out)[0]], "too young to be asked about, and in doubt").toEqual([
      3,
      expect.objectContaining({ adopted: 0, seen: 2 }),
    ]);
    const why = ["--reason", "outage of 14:02", "--actor", "ann"];
    const reconciled = await ichidoIn({ cwd: project }, "reconcile", "--json", ...why);
    expect([reconciled.code, linesOf(reconciled.out)[0]]).toEqual([
      3,
      expect.objectContaining({ adopted: 1, waiting: 1, seen: 2 }),
    ]);
    const { entries } = await store.auditLog({ limit: 10 });
    expect(entries.slice(-2)).toMatchObject([
      { action: "adopt" },
      { actor: "ann", action: "reconcile", reason: "outage of 14:02: adopted 1" },
    ]);
    const { records } = await store.list({ state: "unknown", limit: 10 });
    expect(records.map(({ identity: { key } }) => key)).toEqual(["open-4f6c2b1e8a44"]);
    await store.close();
  });

  it("keys settle release is refused where a probe finds the effect, and needs no more where it finds none", async () => {
    const store = await openSqliteStore(join(project, "own.db"), { tablePrefix: "mine_" });
    const ichido = createIchido({ store, scope: () => ({ principal: "p" }), onUnknown: "hold" });
    const fences: Record<string, string> = {};
    for (const key of ["charged-4f6c2b1e8a44", "nothing-4f6c2b1e8a44", "away-4f6c2b1e8a44"]) {
      const request = { operation: "order.create", scope: { principal: "p" }, key, input: key };
      await ichido
        .run(request, ({ step }) => step(key.split("-")[0] ?? "", () => Promise.reject(new Error("lost"))))
        .catch(() => undefined);
      fences[key] = String((await store.list({ key, limit: 1 })).records[0]?.fence);
    }
    await ichido.close();
    const open = await ichidoIn({ cwd: project }, "why", "nothing-4f6c2b1e8a44", "--json");
    expect([open.code, linesOf(open.out)[0]], "the provider may be late").toEqual([
      3,
      expect.objectContaining({
        verdict: "not-known",
        says: expect.stringMatching(/provider says: nothing/) as string,
      }),
    ]);
    const release = (key: string, ...more: readonly string[]) => {
      const args = ["keys", "settle", key, "release", "--reason", "ticket", "--fence", fences[key] ?? "", ...more];
      return ichidoIn({ cwd: project }, ...args);
    };
    const [charged, nothing, away] = await Promise.all(Object.keys(fences).map((key) => release(key)));
    // No word of a person stands against the provider's.
    const insisted = await release("charged-4f6c2b1e8a44", "--i-checked-the-provider");
    expect([insisted.code, insisted.err]).toEqual([5, expect.stringMatching(/the provider did it/)]);
    expect([charged?.code, charged?.err]).toEqual([
      5,
      expect.stringMatching(/the provider did it \(ch_9\): adopt its answer/),
    ]);
    expect([away?.code, away?.err]).toEqual([
      6,
      expect.stringMatching(/could not be asked \(away: the bank is away\)/),
    ]);
    expect(nothing?.code).toBe(0);
    expect((await store.list({ state: "failed", limit: 10 })).records.map(({ identity: { key } }) => key)).toEqual([
      "nothing-4f6c2b1e8a44",
    ]);
    await store.close();
  });

  it("names records under the program's secret: a key that is guessed cannot be tried against the name", async () => {
    await ichidoIn({ cwd: below }, "migrate");
    const database = new DatabaseSync(join(project, "own.db"));
    const ichido = createIchido({
      store: sqliteStore(database, { tablePrefix: "mine_" }),
      scope: () => ({ principal: "p" }),
      onUnknown: "hold",
    });
    await ichido.run({ operation: "order.name", scope: { principal: "p" }, key: "order-number-4711" }, () => 1);
    const { records } = await ichido.store.list({ key: "order-number-4711", limit: 1 });
    await ichido.close();
    database.close();
    const shown = await ichidoIn({ cwd: below }, "keys", "list", "--operation", "order.name", "--json");
    const id = String(linesOf(shown.out)[0]?.["id"]);
    const guess = recordNames(undefined)(records[0]?.identity as Identity);
    expect([id === guess, /^@[0-9a-f]{12}$/.test(id)]).toEqual([false, true]);
    const found = await ichidoIn({ cwd: below }, "keys", "show", id, "--json");
    expect(linesOf(found.out)[0]).toMatchObject({ type: "record", id, operation: "order.name" });
    expect((await ichidoIn({ cwd: below }, "keys", "show", guess)).code).toBe(4);
  });

  it("ends with 130 when it is interrupted, and closes what it opened", async () => {
    const bin = new URL("../../packages/ichido/src/cli/bin.ts", import.meta.url);
    const child = await spawnChild(bin, { args: ["stats", "--watch", "--every", "50ms"], cwd: project });
    await child.waitFor(/^records/, 60_000);
    expect(await child.kill("SIGINT")).toEqual({ code: 130, signal: null });
    expect(child.lines).toContain("closed");
  });
});

describe("which store a command asks", () => {
  const env = { ICHIDO_STORE: "env.db" };
  it("a flag wins over the environment, which wins over the file", () => {
    expect(chooseProject({ store: "flag.db" }, { env, cwd: project })).toMatchObject({
      kind: "address",
      address: "flag.db",
    });
    expect(chooseProject({ config: "x.ts" }, { env, cwd: project })).toEqual({ kind: "config", file: "x.ts" });
    expect(chooseProject({}, { env, cwd: project })).toMatchObject({ kind: "address", address: "env.db" });
    expect(chooseProject({}, { env: { ICHIDO_CONFIG: "y.ts" }, cwd: project })).toEqual({
      kind: "config",
      file: "y.ts",
    });
    expect(chooseProject({}, { env: {}, cwd: below })).toEqual({
      kind: "config",
      file: join(project, "ichido.config.ts"),
    });
  });

  it("two that say the same thing are refused, and so is none", () => {
    expect(() => chooseProject({ store: "a", config: "b" }, { env: {}, cwd: project })).toThrow(/give one of them/);
    expect(() => chooseProject({}, { env: { ...env, ICHIDO_CONFIG: "y" }, cwd: project })).toThrow(/are both set/);
    const bare = join(folder, "bare");
    mkdirSync(bare);
    writeFileSync(join(bare, "package.json"), "{}");
    expect(() => chooseProject({}, { env: {}, cwd: bare })).toThrow(/ichido init/);
  });

  it.each([
    [["--store", "ftp://x"], 2, /--store: expected the path of a SQLite file/],
    [["--store", "absent.db"], 6, /the SQLite file absent\.db is not there/],
    [["--store", "postgres://user:pass-word@127.0.0.1:1/x"], 6, /ECONNREFUSED/],
    [["--store", "mysql://root@127.0.0.1:1/x"], 6, /ECONNREFUSED/],
    [["--store", "redis://127.0.0.1:1"], 6, /./],
    [["--config", "absent.ts"], 2, /the configuration absent\.ts is not there/],
  ] as const)("%j ends with %i", async (args, code, message) => {
    const ran = await ichidoHere({ cwd: folder }, "keys", "list", ...args);
    expect([ran.code, ran.out]).toEqual([code, ""]);
    expect(ran.err).toMatch(message);
    expect(ran.err).not.toContain("pass-word");
  });

  it.each([
    ["export const x = 1;", /it has no default export/],
    ["export default { ichido: {} };", /option ichido: expected what createIchido/],
    ["export default { ichdo: 1 };", /option ichdo: defineConfig has no such option; did you mean ichido\?/],
    ["throw new Error('of its own');", /cannot be loaded: of its own/],
  ])("a configuration that is wrong says so: %j", async (text, message) => {
    const name = `wrong-${Buffer.from(text).toString("hex")}.mjs`;
    write(name, text);
    const ran = await ichidoHere({ cwd: folder }, "keys", "list", "--config", name, "--json");
    expect([ran.code, ran.err]).toEqual([1, expect.stringMatching(message)]);
    expect(linesOf(ran.out)).toMatchObject([{ v: 1, type: "error", exitCode: 1 }]);
  });
});
