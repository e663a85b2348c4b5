/** The programs of the page run: they hold for their handler, and do not for one that charges without the reference. */
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawnChild, type Child } from "ichido/testing";
import { afterAll, afterEach, expect, test } from "vitest";
import { read, root } from "../repo/tracked.ts";

const place = mkdtempSync(join(tmpdir(), "ichido-crash-tests-"));
const program = read("examples/crash-tests/pay.ts");
const killed = read("examples/crash-tests/killed.ts");
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

test("a process that is killed at the point charges once, with the one that is asked after it", async () => {
  const { code, lines } = await run("killed", killed);
  const points = ["no crash", "after-claim #1", "before-step-finish #1", "after-complete #1"];
  expect(lines.map((line) => line.replaceAll(/ +/g, " "))).toEqual(points.map((point) => `${point} holds`));
  expect(code).toBe(0);
}, 120_000);

test("it is found out where it charges without the reference, and where nothing kills it", async () => {
  const naive = killed.replace('"bank", reference)', '"bank", String(process.pid))');
  const lives = killed.replace("faultsFromEnv()", "undefined");
  expect([naive, lives]).not.toContain(killed);
  const one = (text: string): string => text.replace(/points: \[.*\]/, 'points: ["before-step-finish"]');
  const broken = (why: string): RegExp => new RegExp(`^before-step-finish #1 +BROKEN +.*${why}$`, "m");
  const doubled = await run("killed-naive", one(naive));
  expect(doubled.lines.join("\n")).toMatch(broken("charged 2 times"));
  const unharmed = await run("killed-lives", one(lives));
  expect(unharmed.lines.join("\n")).toMatch(broken("killed at the point"));
  expect([doubled.code, unharmed.code]).toEqual([1, 1]);
}, 120_000);
