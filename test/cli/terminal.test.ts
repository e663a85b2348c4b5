/** What a person sees and is asked; and what a program gets where nobody is. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createIchido } from "ichido";
import { openSqliteStore, type SqliteStore } from "ichido/sqlite";
import { afterAll, beforeAll, expect, it } from "vitest";
import { widthOf } from "../../packages/ichido/src/cli/visible-text.ts";
import { ichidoHere, type Ran, type Setting } from "./command-line.ts";

const folder = mkdtempSync(join(tmpdir(), "ichido-terminal-"));
const address = join(folder, "keys.db");
const escape = "\u001b";
let store: SqliteStore;
let id = "";

const run = (setting: Setting, ...args: readonly string[]): Promise<Ran> =>
  ichidoHere({ ...setting, env: { ICHIDO_STORE: address, ICHIDO_ACTOR: "ann", ...setting.env } }, ...args);

beforeAll(async () => {
  store = await openSqliteStore(address, { migrate: true });
  const ichido = createIchido({ store, scope: () => ({ principal: "p" }), onUnknown: "hold" });
  const labels = {
    note: `${escape}[31mred${escape}[0m\r\n\u202efdp.exe`,
    name: "山田太郎さんのとても長い名前のラベルです",
  };
  const request = { operation: "payment.create", scope: { principal: "p" }, key: "stuck-4f6c2b1e8a44", labels };
  await ichido.run(request, () => Promise.reject(new Error("lost"))).catch(() => undefined);
  await ichido.close();
  id = /@[0-9a-f]{12}/.exec((await run({}, "keys", "list")).out)?.[0] ?? "";
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

// eslint-disable-next-line no-control-regex -- what is looked for
const bare = (text: string): string => text.replaceAll(/\u001b\[\d+m/g, "");

it("a table fits the terminal, also with wide letters; where there is none, nothing is cut off", async () => {
  for (const columns of [60, 80, 120]) {
    const { out } = await run({ columns }, "keys", "list");
    for (const line of bare(out).split("\n")) expect(widthOf(line), line).toBeLessThanOrEqual(columns);
    expect(out).toContain(id);
  }
  expect((await run({ columns: 60 }, "keys", "list")).out).toContain("…");
  expect((await run({}, "keys", "list")).out).toContain("山田太郎さんのとても長い名前のラベルです");
});

it("colours are for a terminal alone, and never with NO_COLOR or a dumb one", async () => {
  expect((await run({ columns: 100 }, "keys", "list")).out).toContain(`${escape}[33m`);
  expect((await run({}, "keys", "list")).out).not.toContain(escape);
  expect((await run({ columns: 100, env: { NO_COLOR: "1" } }, "keys", "list")).out).not.toContain(escape);
  expect((await run({ columns: 100, env: { TERM: "dumb" } }, "keys", "list")).out).not.toContain(escape);
  expect((await run({ columns: 100, env: { NO_COLOR: "" } }, "keys", "list")).out).toContain(escape);
  expect((await run({ columns: 100 }, "keys", "list", "--json")).out).not.toContain(escape);
});

it("what strangers wrote neither moves the cursor nor turns the line around", async () => {
  for (const args of [
    ["keys", "list"],
    ["keys", "show", id],
    ["keys", "list", "--json"],
  ]) {
    const { out } = await run({ columns: 200, env: { NO_COLOR: "1" } }, ...args);
    expect(out).toContain("\\u001b[31mred");
    // eslint-disable-next-line no-control-regex -- what must not be there
    expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  }
});

it("a settlement shows the record and asks; whoever says no has changed nothing", async () => {
  const no = await run({ columns: 100, answers: ["n"] }, "keys", "settle", id, "hold");
  expect([no.code, no.out]).toEqual([130, ""]);
  expect(no.err).toMatch(
    /payment\.create +unknown \(hold\), 1 attempt[^]*Nobody runs it[^]*hold\? \[y\/N\] [^]*nothing was done/,
  );
  const silent = await run({ columns: 100, answers: ["y", ""] }, "keys", "settle", id, "hold");
  expect([silent.code, silent.err]).toEqual([2, expect.stringMatching(/--reason: say why/)]);
  expect((await run({}, "audit")).err).toBe("nothing was noted\n");
  const yes = await run({ columns: 100, answers: ["yes", "ticket 4711"] }, "keys", "settle", id, "hold");
  expect(yes.code).toBe(0);
  expect((await run({}, "audit")).out).toMatch(/hold +ann +@\w+ +ticket 4711/);
});

it("--yes settles nothing that nobody looked at, on a terminal either", async () => {
  const blind = await run({ columns: 100, answers: [] }, "keys", "settle", id, "hold", "--reason", "r", "--yes");
  expect([blind.code, blind.err]).toEqual([2, expect.stringMatching(/--fence: with --yes nobody looks at it/)]);
  const { fence } = (await store.list({ limit: 1 })).records[0] ?? expect.fail();
  const seen = ["--fence", String(fence), "--reason", "r", "--yes"];
  expect((await run({ columns: 100, answers: [] }, "keys", "settle", id, "hold", ...seen)).code).toBe(0);
});

it("a record that changed between the question and the answer is refused with 5", async () => {
  const [record] = (await store.list({ limit: 1 })).records;
  if (record === undefined) throw new Error("it is there");
  const { identity, fence } = record;
  // Another person is faster, while this one reads the question.
  const meanwhile = async (): Promise<void> => {
    expect(await store.settle({ identity, fence, decision: { kind: "release" }, actor: "ben", reason: "first" })).toBe(
      "ok",
    );
  };
  const setting = { columns: 100, answers: ["y", "because"], meanwhile };
  const settled = await run(setting, "keys", "settle", id, "adopt", "--status", "200");
  expect([settled.code, settled.err]).toEqual([5, expect.stringMatching(/changed since you looked at it/)]);
});

it("progress is drawn where a person watches, and removed in the end", async () => {
  const drawn = await run({ columns: 100 }, "keys", "list");
  expect(drawn.err).toMatch(/^\r1 records looked at *\r +\r$/);
  expect((await run({}, "keys", "list")).err).toBe("");
});
