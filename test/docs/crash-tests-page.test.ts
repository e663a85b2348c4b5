/** The program of the page runs: it holds for its handler, and does not for one that charges without the reference. */
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawnChild, type Child } from "ichido/testing";
import { afterAll, afterEach, expect, test } from "vitest";
import { read, root } from "../repo/tracked.ts";

const place = mkdtempSync(join(tmpdir(), "ichido-crash-tests-"));
const program = read("examples/crash-tests/pay.ts");
symlinkSync(join(root, "node_modules"), join(place, "node_modules"));
writeFileSync(join(place, "package.json"), JSON.stringify({ type: "module" }));

let child: Child | undefined;
afterEach(async () => {
  await child?.stop();
});
afterAll(() => rmSync(place, { recursive: true, force: true }));

async function run(name: string, text: string): Promise<{ readonly code: number | null; readonly lines: string[] }> {
  const entry = join(place, `${name}.ts`);
  writeFileSync(entry, text);
  child = await spawnChild(entry, { cwd: place });
  const { code } = await child.exited;
  return { code, lines: [...child.lines] };
}

test("a handler that charges by its reference holds at every point, and nothing but the matrix is printed", async () => {
  const { code, lines } = await run("pay", program);
  expect(lines.filter((line) => !/ (crashed )? *holds$/.test(line))).toEqual([]);
  expect(lines.length).toBeGreaterThan(50);
  expect(lines.some((line) => /^before-step-finish #1, then before-step-finish #1 +crashed +holds$/.test(line))).toBe(
    true,
  );
  expect(code).toBe(0);
});

test("one that charges without it is found out, where the page says", async () => {
  const naive = program.replace("bank.add(reference)", "bank.add(`${reference} ${bank.size}`)");
  expect(naive).not.toBe(program);
  const { code, lines } = await run("naive", naive);
  const [shown] = /^before-step-finish #1 .*$/m.exec(read("docs/guide/crash-tests.md")) ?? [];
  expect(lines).toContain(shown);
  expect(lines.some((line) => line.endsWith("runs broke the invariant:"))).toBe(true);
  expect(code).toBe(1);
});
