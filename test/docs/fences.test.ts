/** Every piece of TypeScript in the documentation compiles under `strict`, as it stands, with its own imports. */
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { read, root, trackedFiles } from "../repo/tracked.ts";

const run = promisify(execFile);

/** At most three, each with a reason. */
const exceptions: Readonly<Record<string, string>> = {};

interface Fence {
  /** `docs/guide/outbox.md:6`. */
  readonly place: string;
  readonly extension: string;
  readonly code: string;
}

function fencesOf(path: string): Fence[] {
  const text = read(path);
  return [...text.matchAll(/^( *)```(tsx?|typescript|jsx?)\n([^]*?)^ *```/gm)].map((match) => ({
    place: `${path}:${text.slice(0, match.index).split("\n").length}`,
    extension: match[2]?.endsWith("x") === true ? "tsx" : "ts",
    code: match[3] ?? "",
  }));
}

const fences = trackedFiles()
  .filter((path) => path.endsWith(".md"))
  .flatMap(fencesOf);

test("every TypeScript fence compiles under strict", { timeout: 300_000 }, async () => {
  expect(fences.length).toBeGreaterThan(30);
  const place = mkdtempSync(join(tmpdir(), "ichido-fences-"));
  try {
    symlinkSync(join(root, "node_modules"), join(place, "node_modules"));
    cpSync(join(root, "test/docs/reader.d.ts"), join(place, "reader.d.ts"));
    mkdirSync(join(place, "fences"));
    const names = new Map<string, string>();
    for (const { place: at, extension, code } of fences) {
      const name = `${at.replaceAll(/[^\w]/g, "-")}.${extension}`;
      names.set(name, at);
      writeFileSync(join(place, "fences", name), `${code}\nexport {};\n`);
      const own = /^\/\/ (\w+\.ts) of your application/.exec(code)?.[1];
      if (own !== undefined) writeFileSync(join(place, "fences", own), code);
    }
    const options = {
      target: "es2023",
      lib: ["es2024", "dom", "dom.iterable", "dom.asynciterable"],
      module: "nodenext",
      moduleResolution: "nodenext",
      customConditions: ["ichido-source"],
      types: ["node"],
      jsx: "react-jsx",
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
      allowImportingTsExtensions: true,
    };
    writeFileSync(join(place, "package.json"), JSON.stringify({ type: "module" }));
    writeFileSync(
      join(place, "tsconfig.json"),
      JSON.stringify({ compilerOptions: options, include: ["reader.d.ts", "fences"] }),
    );
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const printed = await run(process.execPath, [tsc, "-p", ".", "--pretty", "false"], { cwd: place }).then(
      () => "",
      (error: { stdout: string }) => error.stdout,
    );
    const errors = printed
      .split("\n")
      .filter((line) => /^\S.*error TS/.test(line))
      .map((line) => line.replace(/^fences\/([^(]+)/, (_, name: string) => names.get(name) ?? name));
    const excepted = (line: string): boolean => Object.keys(exceptions).some((at) => line.startsWith(at));
    expect(errors.filter((line) => !excepted(line))).toEqual([]);
    expect(Object.keys(exceptions).length).toBeLessThanOrEqual(3);
    expect(Object.keys(exceptions).filter((at) => !errors.some((line) => line.startsWith(at)))).toEqual([]);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
});

test.each(["express", "fastify", "hono", "koa", "next", "node"])(
  "the program of the page on %s is its example",
  (name) => {
    const [fence] = fencesOf(`docs/guide/${name}.md`);
    expect(fence?.code).toBe(read(`examples/${name}/${name === "next" ? "route" : "server"}.ts`));
  },
);

test("the first program of the page on crash tests is its example, and as short as it says", () => {
  const [fence] = fencesOf("docs/guide/crash-tests.md");
  const program = read("examples/crash-tests/pay.ts");
  expect(fence?.code).toBe(program);
  expect(program.split("\n").filter((line) => line.trim() !== "").length).toBeLessThanOrEqual(20);
});

test("the program of a process that is killed, on the page on crash tests, is its example", () => {
  const programs = fencesOf("docs/guide/crash-tests.md").map(({ code }) => code);
  expect(programs).toContain(read("examples/crash-tests/killed.ts"));
});

test("the index leads to every page", () => {
  const index = read("docs/README.md");
  const pages = trackedFiles().filter((path) => /^docs\/(guide|reference)\/.*\.md$/.test(path));
  expect(pages.filter((path) => !index.includes(path.replace("docs/", "")))).toEqual([]);
});
