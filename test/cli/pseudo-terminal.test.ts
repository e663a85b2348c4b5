/** The program in a terminal that the system makes, as a person has one; `script` of util-linux lends it. */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createIchido } from "ichido";
import { openSqliteStore } from "ichido/sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bin, environmentOf, ichidoIn, type Ran } from "./command-line.ts";

const folder = mkdtempSync(join(tmpdir(), "ichido-pty-"));
const ICHIDO_STORE = join(folder, "keys.db");
const env = { ICHIDO_STORE, ICHIDO_ACTOR: "ann", TERM: "xterm", NO_COLOR: "" };
const escape = "\u001b";
let id = "";

/** What the terminal showed is one stream. `typed`: the keyboard; each line goes once the terminal has shown what it waits for. */
function inTerminal(
  more: Readonly<Record<string, string>>,
  args: readonly string[],
  typed: readonly (readonly [shown: string, line: string])[] = [],
): Promise<Pick<Ran, "code" | "out">> {
  const command = [process.execPath, "--conditions=ichido-source", bin, ...args].map((each) => `'${each}'`).join(" ");
  return new Promise((resolve) => {
    const options = { env: environmentOf({ ...env, ...more }), timeout: 60_000 };
    const child = execFile("script", ["-qec", `stty cols 80; ${command}`, "/dev/null"], options, (error, out) =>
      resolve({ code: error === null ? 0 : typeof error.code === "number" ? error.code : -1, out }),
    );
    const left = [...typed];
    let shown = "";
    child.stdout?.on("data", (text: string) => {
      shown += text;
      const [next] = left;
      if (next === undefined || !shown.includes(next[0])) return;
      left.shift();
      child.stdin?.write(`${next[1]}\n`);
    });
  });
}

// eslint-disable-next-line no-control-regex -- what is looked for
const colour = /\u001b\[\d+m/;

beforeAll(async () => {
  const store = await openSqliteStore(ICHIDO_STORE, { migrate: true });
  const scope = { principal: "p" };
  const ichido = createIchido({ store, scope: () => scope, onUnknown: "hold" });
  const labels = { note: "a label that is much longer than a terminal of eighty columns has any room for" };
  const request = { operation: "payment.create", scope, key: "stuck-4f6c2b1e8a44", labels };
  await ichido.run(request, () => Promise.reject(new Error("lost"))).catch(() => undefined);
  await ichido.close();
  await store.close();
  id = /@[0-9a-f]{12}/.exec((await ichidoIn({ env }, "keys", "list")).out)?.[0] ?? "";
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const isThere = existsSync("/usr/bin/script");
describe.skipIf(!isThere)(`a terminal${isThere ? "" : " (skipped: script of util-linux is not here)"}`, () => {
  it("shows a table in colours that fits it, and progress that it removes", async () => {
    const { code, out } = await inTerminal({}, ["keys", "list"]);
    expect([code, out]).toEqual([0, expect.stringContaining(id)]);
    expect(out).toMatch(colour);
    expect(out).toContain("1 records looked at");
    // eslint-disable-next-line no-control-regex -- as it is
    const lines = out.replaceAll(/\u001b\[\d+m/g, "").split("\r\n");
    const rows = lines.map((line) => line.slice(line.lastIndexOf("\r") + 1));
    for (const row of rows) expect(row.length, row).toBeLessThanOrEqual(80);
    expect(rows.join("\n")).toContain("…");
  });

  it.each([{ NO_COLOR: "1" }, { TERM: "dumb" }])("shows the same without colours with %j", async (more) => {
    const { code, out } = await inTerminal(more, ["keys", "list"]);
    expect([code, out]).toEqual([0, expect.stringContaining(id)]);
    expect(out).not.toContain(escape);
  });

  it("shows lines of JSON without colours", async () => {
    expect((await inTerminal({}, ["keys", "list", "--json"])).out).not.toContain(escape);
  });

  it("asks before it writes: no changes nothing, yes and a reason settle", async () => {
    const settle = ["keys", "settle", id, "hold"];
    const no = await inTerminal({}, settle, [["hold? [y/N]", "n"]]);
    expect([no.code, no.out]).toEqual([130, expect.stringContaining("nothing was done")]);
    const yes = await inTerminal({}, settle, [
      ["hold? [y/N]", "y"],
      ["reason, for the audit:", "ticket 4711"],
    ]);
    expect(yes.code).toBe(0);
    expect((await ichidoIn({ env }, "audit")).out).toMatch(/^(?:.*\n)?[^\n]*hold +ann +@\w+ +ticket 4711\n$/);
  });
});

describe("a pipe", () => {
  it("gets whole rows without colours and progress", async () => {
    const { code, out, err } = await ichidoIn({ env }, "keys", "list");
    expect([code, err]).toEqual([0, ""]);
    expect(out).not.toContain(escape);
    expect(out).toContain("than a terminal of eighty columns has any room for");
  });

  it("is never asked: what would ask is refused with 2, and changes nothing", async () => {
    const settle = await ichidoIn({ env }, "keys", "settle", id, "hold", "--reason", "x");
    expect([settle.code, settle.err]).toEqual([2, expect.stringContaining("there is no terminal")]);
    const forget = await ichidoIn({ env }, "keys", "forget", id, "--reason", "x");
    expect([forget.code, forget.err]).toEqual([2, expect.stringContaining("--yes: there is no terminal to ask on")]);
    expect((await ichidoIn({ env }, "keys", "list", "--state", "unknown")).out).toContain(id);
  });
});
