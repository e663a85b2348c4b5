import { existsSync, statSync } from "node:fs";
import { basename, join, posix } from "node:path";
import { describe, expect, test } from "vitest";
import { linesMatching, read, root, textFiles, trackedFiles } from "./tracked.ts";

const sources = (): string[] => trackedFiles().filter((path) => path.startsWith("packages/ichido/src/"));

describe("tracked files", () => {
  test("name no package registry and no mirror: whoever clones has their own", () => {
    const hosts = new RegExp(
      ["registry\\.(npmjs|yarnpkg)\\.", "//[\\w.-]*(artifactory|verdaccio|nexus)[\\w.-]*[/:]"].join("|"),
      "i",
    );
    expect(linesMatching(textFiles(), hosts)).toEqual([]);
  });

  test("name no place of the machine they were written on", () => {
    // Put together here, so that this file does not match itself.
    const places = ["work/main", "work/shared", "home/\\w", "Users/\\w", "root/\\w", "tmp/scratch"];
    const pattern = new RegExp(`(^|[\\s"'\`(=:])/(${places.join("|")})`);
    expect(
      linesMatching(
        textFiles().filter((path) => path !== "test/repo/tree.test.ts"),
        pattern,
      ),
    ).toEqual([]);
  });

  test("are named in kebab-case after what they hold", () => {
    const named = trackedFiles().filter((path) => /\.(ts|tsx|js|mjs|sql|lua)$/.test(path));
    expect(named.filter((path) => !/^\d{0,4}_?[a-z0-9]+([-_.][a-z0-9]+)*$/.test(basename(path)))).toEqual([]);
    expect(named.filter((path) => /(^|\/)(utils?|helpers?|common|misc)(\/|\.|$)/.test(path))).toEqual([]);
  });

  test("the scripts that must be executable are", () => {
    expect(statSync(join(root, ".ci/run")).mode & 0o111).not.toBe(0);
  });

  test("relative links in documents lead somewhere", () => {
    const broken = trackedFiles()
      .filter((path) => path.endsWith(".md"))
      .flatMap((path) =>
        [
          ...read(path)
            .replace(/```[^]*?```/g, "")
            .matchAll(/\]\(([^)\s]+)\)/g),
        ]
          .map((match) => match[1] ?? "")
          .filter((target) => !/^([a-z]+:|#)/.test(target))
          .filter((target) => !existsSync(join(root, posix.join(posix.dirname(path), target.replace(/#.*$/, "")))))
          .map((target) => `${path}: ${target}`),
      );
    expect(broken).toEqual([]);
  });

  test("anchors in links of documents are headings, or named places", () => {
    const anchorsOf = (text: string): readonly string[] => [
      ...[...text.replace(/```[^]*?```/g, "").matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
        heading
          .toLowerCase()
          .replace(/[^\p{L}\p{N} _-]/gu, "")
          .replaceAll(" ", "-"),
      ),
      ...[...text.matchAll(/<a id="([^"]+)">/g)].map(([, id = ""]) => id),
    ];
    const broken = trackedFiles()
      .filter((path) => path.endsWith(".md"))
      .flatMap((path) =>
        [...read(path).matchAll(/\]\(([^)\s#]*)#([^)\s]+)\)/g)]
          .filter(([, target = ""]) => !/^[a-z]+:/.test(target))
          .filter(([, target = "", anchor = ""]) => {
            const page = target === "" ? path : posix.join(posix.dirname(path), target);
            return !page.endsWith(".md") || !anchorsOf(read(page)).includes(anchor);
          })
          .map(([link]) => `${path}: ${link}`),
      );
    expect(broken).toEqual([]);
  });
});

/** Rooms and the rooms they may use, besides themselves. Success runs down, imports point one way. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  core: [],
  http: ["core"],
  adapters: ["core", "http", "policy"],
  drivers: ["core"],
  sql: ["core", "drivers"],
  stores: ["core", "drivers", "sql"],
  transactions: ["core", "drivers"],
  guards: ["core", "drivers", "http"],
  brokers: ["core", "drivers"],
  outbox: ["core", "drivers", "sql", "brokers"],
  inbox: ["core", "sql", "brokers", "transactions"],
  client: ["core"],
  react: ["client"],
  policy: ["core", "client"],
  metrics: ["core", "outbox", "inbox"],
  operations: ["core", "sql", "brokers", "outbox", "inbox"],
  console: ["core", "brokers", "outbox", "inbox", "operations"],
  traces: ["core"],
  testing: ["core", "stores"],
  conform: ["core", "adapters", "policy", "stores", "testing"],
  cli: [
    "core",
    "drivers",
    "sql",
    "stores",
    "transactions",
    "brokers",
    "outbox",
    "inbox",
    "policy",
    "operations",
    "console",
    "conform",
  ],
};

/** The rooms of the core likewise. */
const allowedInCore: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  request: ["contract"],
  "record-machine": ["contract"],
  engine: ["contract", "request", "record-machine"],
};

describe("stores", () => {
  /** Whoever knows one folder finds the same noun in the next. */
  const nouns = ["claim", "index", "inspection", "listing", "options", "row", "store"];
  const nounsOfServers = [...nouns, "owned", "settle", "sweep", "watch"];

  test.each(["memory", "sqlite", "mysql", "postgres", "redis"])(
    "%s has its nouns in files of the same names",
    (name) => {
      const folder = `packages/ichido/src/stores/${name}/`;
      const has = new Set(sources().filter((path) => path.startsWith(folder)));
      const wanted = name === "memory" ? nouns : nounsOfServers;
      expect(wanted.filter((noun) => !has.has(`${folder}${noun}.ts`))).toEqual([]);
    },
  );
});

describe("comments and pages", () => {
  test("name only files that are there", () => {
    const files = trackedFiles();
    const names = new Set(
      files.flatMap((path) => path.split("/").map((_, index, parts) => parts.slice(index).join("/"))),
    );
    // Guides speak of the files of whoever reads them.
    const pages = files.filter((path) => /^(ARCHITECTURE|CONTRIBUTING)\.md$|^docs\/(decisions|reference)\//.test(path));
    const name = /(?:packages\/ichido\/src\/)?((?:[\w-]+\/)*[\w-]+(?:\.(?:test|child))?\.(?:ts|sql|lua))/.source;
    const quoted = new RegExp(`\`${name}\``, "g");
    // Its drawings name files without quotes.
    const anywhere = new RegExp(`(?<![\\w./-])${name}(?![\\w.])`, "g");
    const missing = [...sources(), ...pages]
      .filter((path) => !path.includes(".generated."))
      .flatMap((path) =>
        [...read(path).matchAll(path === "ARCHITECTURE.md" ? anywhere : quoted)]
          .map((match) => match[1] ?? "")
          .filter((name) => !names.has(name))
          .map((name) => `${path}: ${name}`),
      );
    expect(missing).toEqual([]);
  });
});

/** With names, for its effects, or at a later time. */
const relativeImport = /(?:from |import |import\()"(\.[^"]+)"/g;

describe("imports", () => {
  test("point one way: a room uses only the rooms before it", () => {
    const wrong = sources()
      .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"))
      .flatMap((path) => {
        const [, , , room = "", file] = path.split("/");
        // The files of the entry point itself.
        if (file === undefined) return [];
        const may = allowed[room];
        if (may === undefined) return [`${path}: there is no room ${room}`];
        return [...read(path).matchAll(relativeImport)]
          .map((match) => posix.join(posix.dirname(path), match[1] ?? "").split("/")[3] ?? "")
          .filter((other) => other !== room && !may.includes(other))
          .map((other) => `${path} imports ${other}`);
      });
    expect(wrong).toEqual([]);
  });

  test("point one way inside the core too", () => {
    const wrong = sources()
      .filter((path) => path.startsWith("packages/ichido/src/core/") && /(?<!\.test)\.ts$/.test(path))
      .flatMap((path) => {
        const [, , , , room = ""] = path.split("/");
        const may = allowedInCore[room];
        if (may === undefined) return [`${path}: there is no room core/${room}`];
        return [...read(path).matchAll(relativeImport)]
          .map((match) => posix.join(posix.dirname(path), match[1] ?? "").split("/")[4] ?? "")
          .filter((other) => other !== room && !may.includes(other))
          .map((other) => `${path} imports core/${other}`);
      });
    expect(wrong).toEqual([]);
  });

  test("the core knows no framework and no driver", () => {
    const core = sources().filter((path) => path.startsWith("packages/ichido/src/core/") && !path.endsWith(".test.ts"));
    const outside = linesMatching(
      core,
      /(?:from |import |import\()"(?!\.|node:(crypto|buffer|util|async_hooks|diagnostics_channel|stringdecoder)")/,
    );
    expect(outside).toEqual([]);
  });

  test("published sources import no foreign package", () => {
    // What `ichido init` writes are texts that name the user's own packages; its test compiles and runs them.
    const published = sources().filter(
      (path) => path.endsWith(".ts") && !path.endsWith(".test.ts") && !path.includes("/cli/first-program/"),
    );
    const foreign = published.flatMap((path) =>
      [
        ...read(path)
          .replace(/\/\*[^]*?\*\//g, "")
          .matchAll(/(?:from |import |import\()"([^"\s]+)"/g),
      ]
        .map((match) => match[1] ?? "")
        .filter((specifier) => !/^(\.|node:|ichido(\/|$))/.test(specifier))
        .map((specifier) => `${path}: ${specifier}`),
    );
    expect(foreign).toEqual([]);
  });
});
