import { symlinkSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pack, root } from "./packed.ts";
import type { Packed } from "./packed.ts";

let packed: Packed;

beforeAll(async () => {
  packed = await pack();
}, 120_000);

afterAll(() => packed?.remove());

/** Specifiers of static and dynamic imports, in code and in declarations. */
function importsOf(text: string): string[] {
  const pattern = /(?:\bfrom\s+|\bimport\s+|\bimport\(\s*|\brequire\(\s*)["']([^"'\s]+)["']/g;
  return [...text.replace(/\/\*[^]*?\*\//g, "").matchAll(pattern)].map((match) => match[1] ?? "");
}

describe("the tarball", () => {
  test("holds no tests, no build state and nothing but the package", () => {
    const strange = packed.files.filter(
      (file) =>
        /(\.test\.|\.bench\.|\.tsbuildinfo$|(^|\/)(test|tests|__tests__|node_modules)\/)/.test(file) ||
        !/^(dist|src|package\.json$|README|LICENSE|CHANGELOG)/.test(file),
    );
    expect(strange).toEqual([]);
    expect(packed.files.length).toBeGreaterThan(20);
  });

  test("holds the sources its source maps point to", () => {
    const missing = packed.files
      .filter((file) => file.endsWith(".map"))
      .flatMap((file) => {
        const map = JSON.parse(packed.read(file)) as { sources: string[] };
        return map.sources.map((source) => posix.join(posix.dirname(file), source));
      })
      .filter((source) => !packed.files.includes(source));
    expect(missing).toEqual([]);
  });

  test("carries its licence", () => {
    expect(packed.files).toContain("LICENSE");
  });

  test("brings nothing along: no dependencies, peers all optional, no install scripts", () => {
    const {
      dependencies,
      optionalDependencies,
      peerDependencies = {},
      peerDependenciesMeta = {},
      scripts = {},
    } = packed.manifest;
    expect(dependencies ?? {}).toEqual({});
    expect(optionalDependencies ?? {}).toEqual({});
    expect(Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional !== true)).toEqual([]);
    expect(Object.keys(scripts).filter((name) => /install|prepare|publish|pack/.test(name))).toEqual([]);
    expect(packed.manifest.engines).toEqual({ node: ">=22.18" });
  });

  test("imports only Node and itself, in code and in declarations", () => {
    const foreign = packed.files
      .filter((file) => /^dist\/.*(\.js|\.d\.ts)$/.test(file) && !file.startsWith("dist/cli/"))
      .flatMap((file) => importsOf(packed.read(file)).map((specifier) => `${file}: ${specifier}`))
      .filter((line) => !/: (node:|\.\.?\/)/.test(line));
    expect(foreign).toEqual([]);
  });

  test("every relative import in it leads to a file in it", () => {
    const broken = packed.files
      .filter((file) => /^dist\/.*\.js$/.test(file))
      .flatMap((file) =>
        importsOf(packed.read(file))
          .filter((specifier) => specifier.startsWith("."))
          .map((specifier) => ({ file, target: posix.join(posix.dirname(file), specifier) })),
      )
      .filter(({ target }) => !packed.files.includes(target));
    expect(broken).toEqual([]);
  });

  test("publint finds nothing to say", async () => {
    const { messages } = await publint({ pkgDir: packed.folder, pack: false, strict: true });
    expect(messages.map((message) => formatMessage(message, packed.manifest))).toEqual([]);
  });
});

describe("an empty project", () => {
  test("imports every subpath without any other package", async () => {
    const program = packed.subpaths.map(
      (name) => `if (Object.keys(await import("${name}")).length === 0) throw new Error("${name} is empty");`,
    );
    writeFileSync(join(packed.project, "import.js"), program.join("\n"));
    await packed.run(process.execPath, ["import.js"]);
  });

  test("requires every subpath from CommonJS", async () => {
    const program = packed.subpaths.map(
      (name) => `if (Object.keys(require("${name}")).length === 0) throw new Error("${name} is empty");`,
    );
    writeFileSync(join(packed.project, "require.cjs"), program.join("\n"));
    await packed.run(process.execPath, ["require.cjs"]);
  });

  test("reaches nothing but the listed subpaths", async () => {
    const program = `await import("ichido/dist/index.js").then(() => { throw new Error("reachable") }, (error) => { if (error.code !== "ERR_PACKAGE_PATH_NOT_EXPORTED") throw error; });`;
    writeFileSync(join(packed.project, "inside.js"), program);
    await packed.run(process.execPath, ["inside.js"]);
  });

  test.each(["nodenext", "bundler"])(
    "sees the types under moduleResolution %s, checked to the last declaration",
    async (resolution) => {
      const types = join(packed.project, "node_modules", "@types");
      mkdirSync(types, { recursive: true });
      for (const name of ["@types/node", "undici-types"]) {
        const target = join(packed.project, "node_modules", name);
        mkdirSync(dirname(target), { recursive: true });
        try {
          symlinkSync(join(root, "node_modules", name), target);
        } catch {
          // Made by the other case of this test.
        }
      }
      const lines = packed.subpaths.map(
        (name, index) =>
          `import * as subpath${index} from "${name}";\nexport const kept${index}: object = subpath${index};`,
      );
      const wrong =
        '// @ts-expect-error the types are really there\nimport { nothingOfThatName } from "ichido";\nexport { nothingOfThatName };';
      writeFileSync(join(packed.project, "consumer.ts"), [...lines, wrong, ""].join("\n"));
      const options = {
        target: "es2023",
        lib: ["es2023", "dom", "dom.iterable", "dom.asynciterable"],
        module: resolution === "bundler" ? "esnext" : "nodenext",
        moduleResolution: resolution,
        types: ["node"],
        strict: true,
        noEmit: true,
        skipLibCheck: false,
        exactOptionalPropertyTypes: true,
      };
      writeFileSync(
        join(packed.project, "tsconfig.json"),
        JSON.stringify({ compilerOptions: options, files: ["consumer.ts"] }),
      );
      const output = await packed.run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", "."]);
      expect(output).toBe("");
    },
  );
});
