/** Every block of "Take it home" compiles under `strict`, as it stands. */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { choices, installOf, serverOf, testText } from "../src/snippets.ts";

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
