import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { build as esbuild } from "esbuild";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { build as rolldown } from "rolldown";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { importAll } from "./import-all.ts";
import type { Imported } from "./import-all.ts";
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
  test("holds what a user needs and nothing else", () => {
    const strange = packed.files.filter(
      (file) =>
        !/^(dist\/.+\.(js|d\.ts)|package\.json|README\.md|LICENSE|CHANGELOG\.md)$/.test(file) ||
        /(\.test\.|\.bench\.|(^|\/)(test|tests|__tests__|node_modules)\/)/.test(file),
    );
    expect(strange).toEqual([]);
    const dangling = packed.files.filter((file) => packed.read(file).includes("sourceMappingURL"));
    expect(dangling).toEqual([]);
  });

  test("is as large as its page says", () => {
    const bytes = packed.files.reduce((sum, file) => sum + statSync(join(packed.folder, file)).size, 0);
    const page = readFileSync(join(root, "docs/reference/support.md"), "utf8");
    const said = /(\d+) files, ([\d.]+) MB, ([\d.]+) MB packed/.exec(page)?.slice(1).map(Number) ?? [];
    const is = [packed.files.length, bytes / 1e6, packed.tarballBytes / 1e6];
    is.forEach((value, index) => expect(Math.abs(value / (said[index] ?? 0) - 1), String(is)).toBeLessThan(0.1));
  });

  test("shows no condition of the repository's own", () => {
    const conditions = Object.values(packed.manifest.exports).flatMap((targets) =>
      typeof targets === "string" ? [] : Object.keys(targets),
    );
    expect([...new Set(conditions)]).toEqual(["types", "default"]);
    expect(packed.manifest).not.toHaveProperty("private");
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

  /** The newest TypeScript, and the oldest that `docs/reference/support.md` names. */
  const compilers = {
    newest: join(root, "node_modules/typescript"),
    oldest: join(root, "test/package/oldest/node_modules/typescript"),
  };
  const ways = [
    { resolution: "nodenext", module: "nodenext", file: "consumer.cts" },
    { resolution: "bundler", module: "esnext", file: "consumer.ts" },
  ];

  test.each(Object.entries(compilers).flatMap(([age, compiler]) => ways.map((way) => ({ age, compiler, ...way }))))(
    "sees the types with the $age TypeScript under moduleResolution $resolution in $file, to the last declaration",
    async ({ compiler, resolution, module, file }) => {
      linkTypes();
      const lines = packed.subpaths.map(
        (name, index) =>
          `import * as subpath${index} from "${name}";\nexport const kept${index}: object = subpath${index};`,
      );
      const wrong =
        '// @ts-expect-error the types are really there\nimport { nothingOfThatName } from "ichido";\nexport { nothingOfThatName };';
      writeFileSync(join(packed.project, file), [...lines, wrong, ""].join("\n"));
      const options = {
        target: "es2023",
        lib: ["es2023", "dom", "dom.iterable", "dom.asynciterable"],
        module,
        moduleResolution: resolution,
        types: ["node"],
        strict: true,
        noEmit: true,
        skipLibCheck: false,
        exactOptionalPropertyTypes: true,
      };
      writeFileSync(join(packed.project, "tsconfig.json"), JSON.stringify({ compilerOptions: options, files: [file] }));
      const tsc = join(compiler, "bin/tsc");
      expect(await packed.run(process.execPath, [tsc, "-p", "."])).toBe("");
    },
  );

  test.each(Object.entries(compilers))(
    "types Fastify's request and route config, with the %s TypeScript",
    async (_, compiler) => {
      linkTypes();
      const linked = join(packed.project, "node_modules/fastify");
      symlinkSync(join(root, "node_modules/fastify"), linked);
      try {
        const program = [
          'import fastify, { type FastifyRequest } from "fastify";',
          'import { createIchido } from "ichido";',
          'import { idempotency } from "ichido/fastify";',
          'import { memoryStore } from "ichido/memory";',
          "const scope = (request: FastifyRequest) => ({ principal: request.ip });",
          'const ichido = createIchido({ store: memoryStore(), scope, onUnknown: "hold" });',
          "const app = fastify();",
          "await app.register(idempotency, { ichido });",
          "const labels = (request: FastifyRequest) => ({ path: request.url });",
          'app.post("/a", { config: { idempotency: { operation: "a", labels } } }, async (request) => request.idempotency?.reference("x"));',
          "// @ts-expect-error an operation is a text",
          'app.post("/b", { config: { idempotency: { operation: 5 } } }, async () => undefined);',
        ];
        writeFileSync(join(packed.project, "fastify.ts"), program.join("\n"));
        const options = {
          target: "es2023",
          module: "nodenext",
          types: ["node"],
          strict: true,
          noEmit: true,
          skipLibCheck: true,
        };
        writeFileSync(
          join(packed.project, "tsconfig.json"),
          JSON.stringify({ compilerOptions: options, files: ["fastify.ts"] }),
        );
        expect(await packed.run(process.execPath, [join(compiler, "bin/tsc"), "-p", "."])).toBe("");
      } finally {
        unlinkSync(linked);
      }
    },
  );

  test("the oldest TypeScript is the one that its page names", () => {
    const { version } = JSON.parse(readFileSync(join(compilers.oldest, "package.json"), "utf8")) as {
      version: string;
    };
    expect(readFileSync(join(root, "docs/reference/support.md"), "utf8")).toContain(
      `TypeScript ${version.split(".").slice(0, 2).join(".")} or newer`,
    );
  });

  test.each(["esbuild", "rolldown"])("is bundled for a browser by %s, and only what is used", async (bundler) => {
    const entry = join(packed.project, "browser.js");
    writeFileSync(entry, 'import { createClient } from "ichido/client";\nconsole.log(typeof createClient);\n');
    const out = join(packed.project, `${bundler}.js`);
    await bundlers[bundler]?.(entry, out);
    const code = readFileSync(out, "utf8");
    expect(code).not.toMatch(/\bnode:|createIchido|IchidoError/);
    expect(await packed.run(process.execPath, [out])).toBe("function\n");
  });
});

describe("the bundled code", () => {
  let built: Imported;
  let source: Imported;
  beforeAll(async () => {
    built = await importAll(packed.subpaths, packed.project);
    source = await importAll(packed.subpaths, root, ["--conditions=ichido-source"]);
  }, 60_000);

  const isBuiltIn = (name: string): boolean => name.startsWith("node:");
  /** The modules of the source that stand in what a subpath loads, as the bundler marks them. */
  const modulesIn = (loaded: ReadonlySet<string>): string[] =>
    [...loaded]
      .filter((name) => !isBuiltIn(name))
      .flatMap((file) => [...packed.read(file).matchAll(/^\/\/#region (src\/\S+)$/gm)].map(([, name = ""]) => name));

  test("is few files: engine, Express and SQLite together at most 15", () => {
    const files = [...built.loadedBy("ichido", "ichido/express", "ichido/sqlite")].filter((name) => !isBuiltIn(name));
    expect(files.length, files.join(" ")).toBeLessThanOrEqual(15);
    expect(files.length).toBeGreaterThan(3);
  });

  test("has the names of its source, at every subpath, and each is one thing wherever it comes from", () => {
    expect(built.names).toEqual(source.names);
    expect(built.twins).toEqual(source.twins);
  });

  test("is never another's alone: what a subpath loads beyond its source, several subpaths use", () => {
    // What people and tests run, console or suites, uses much that is otherwise one subpath's alone.
    const subpaths = packed.subpaths.filter((name) => !/^ichido\/(testing|conform|console|operations)\b/.test(name));
    const used = new Map(subpaths.map((subpath) => [subpath, source.loadedBy(subpath)]));
    const users = (module: string): number => [...used.values()].filter((modules) => modules.has(module)).length;
    const strange = subpaths.flatMap((subpath) =>
      modulesIn(built.loadedBy(subpath))
        .filter((module) => used.get(subpath)?.has(module) !== true && users(module) < 2)
        .map((module) => `${subpath}: ${module}`),
    );
    expect(strange).toEqual([]);
  });

  test.each(["memory", "sqlite", "postgres", "mysql", "redis"])("of %s has nothing of another store", (name) => {
    const own = name === "postgres" ? ["postgres", "pg"] : [name];
    const strange = modulesIn(built.loadedBy(`ichido/${name}`)).filter((module) => {
      const [, folder] = /^src\/(?:stores|drivers)\/(\w+)\//.exec(module) ?? [];
      return folder !== undefined && !own.includes(folder);
    });
    expect(strange).toEqual([]);
  });

  test("needs no built-in but those of its source and of the core, and none where the source needs none", () => {
    const builtIns = (imported: Imported, subpath: string): string[] =>
      [...imported.loadedBy(subpath)].filter(isBuiltIn);
    const core = builtIns(source, "ichido");
    const strange = packed.subpaths.flatMap((subpath) => {
      const own = builtIns(source, subpath);
      const allowed = own.length === 0 ? [] : [...own, ...core];
      return builtIns(built, subpath).filter((name) => !allowed.includes(name));
    });
    expect(strange).toEqual([]);
    expect(builtIns(built, "ichido/client")).toEqual([]);
  });

  test("throws errors that are IchidoErrors, whichever subpath throws them", async () => {
    const program = [
      'import { createIchido, IchidoError } from "ichido";',
      'import { idempotency } from "ichido/express";',
      'import { memoryStore } from "ichido/memory";',
      'import { openSqliteStore } from "ichido/sqlite";',
      "const tries = [createIchido, idempotency, memoryStore, openSqliteStore].map(async (make) => make({ no: 1 }));",
      "for (const { reason } of await Promise.allSettled(tries)) console.log(reason instanceof IchidoError);",
    ];
    writeFileSync(join(packed.project, "errors.js"), program.join("\n"));
    expect(await packed.run(process.execPath, ["errors.js"])).toBe("true\n".repeat(4));
  });

  test("runs as a command, with every command it loads when asked and its own version", async () => {
    const command = join(packed.folder, packed.manifest.bin?.["ichido"] ?? "");
    expect(await packed.run(process.execPath, [command, "--version"])).toBe(`${packed.manifest.version}\n`);
    expect(await packed.run(process.execPath, [command, "--help"])).toContain("keys settle");
  });
});

const bundlers: Readonly<Record<string, (entry: string, out: string) => Promise<unknown>>> = {
  esbuild: (entry, out) =>
    esbuild({ entryPoints: [entry], outfile: out, bundle: true, format: "esm", platform: "browser" }),
  rolldown: (entry, out) => rolldown({ input: entry, platform: "browser", output: { file: out, format: "esm" } }),
};

function linkTypes(): void {
  for (const name of ["@types/node", "undici-types"]) {
    const target = join(packed.project, "node_modules", name);
    mkdirSync(dirname(target), { recursive: true });
    if (!existsSync(target)) symlinkSync(join(root, "node_modules", name), target);
  }
}
