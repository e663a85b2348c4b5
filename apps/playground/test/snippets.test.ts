/** Every block of "Take it home" compiles under `strict`, as it stands. */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { choices, exportOf, installOf, isForProtection, serverOf, testText } from "../src/snippets.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../../..");

test("every framework with every store and library compiles", { timeout: 300_000 }, async () => {
  expect(choices.length).toBeGreaterThan(80);
  const place = mkdtempSync(join(tmpdir(), "ichido-snippets-"));
  try {
    symlinkSync(join(root, "node_modules"), join(place, "node_modules"));
    mkdirSync(join(place, "blocks"));
    for (const choice of choices) {
      const name = Object.values(choice).join("-").replaceAll(/\W/g, "-");
      writeFileSync(join(place, "blocks", `${name}.ts`), serverOf(choice));
      expect(installOf(choice)).toMatch(/^npm install ichido( [@\w/-]+)*$/);
    }
    writeFileSync(join(place, "blocks", "shown.test.ts"), testText);
    const options = {
      target: "es2023",
      lib: ["es2024", "dom", "dom.iterable", "dom.asynciterable"],
      module: "nodenext",
      moduleResolution: "nodenext",
      customConditions: ["ichido-source"],
      types: ["node"],
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      allowImportingTsExtensions: true,
    };
    writeFileSync(join(place, "package.json"), JSON.stringify({ type: "module" }));
    writeFileSync(join(place, "tsconfig.json"), JSON.stringify({ compilerOptions: options, include: ["blocks"] }));
    const { stdout } = await run(
      process.execPath,
      [join(root, "node_modules/typescript/bin/tsc"), "--project", place],
      { cwd: place },
    ).catch((error: unknown) => error as { stdout: string });
    expect(stdout).toBe("");
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
});

test("what is for the protection is marked: ten lines or fewer, and four more where it joins a transaction", () => {
  for (const choice of choices) {
    const marked = serverOf(choice).split("\n").filter(isForProtection);
    expect(marked.some((line) => line.includes("createIchido({"))).toBe(true);
    expect([choice, marked.length]).toEqual([
      choice,
      Math.min(marked.length, choice.transactions === "none" ? 10 : 14),
    ]);
  }
});

test("every line that writes the tables as files runs, and names files", { timeout: 60_000 }, async () => {
  const lines = new Set(choices.map(exportOf).filter((line) => line !== ""));
  expect(lines.size).toBe(7);
  const bin = join(root, "packages/ichido/src/cli/bin.ts");
  for (const line of lines) {
    const [npx, name, ...told] = line.split(" ");
    expect([npx, name]).toEqual(["npx", "ichido"]);
    const { stdout } = await run(process.execPath, ["--conditions=ichido-source", bin, ...told, "--dry-run"], {
      cwd: tmpdir(),
    });
    expect(stdout).toMatch(/migrations\//);
  }
});
