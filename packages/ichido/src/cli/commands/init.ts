/** `ichido init`: writes a first program that runs, for a framework and a store. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { defineCommand, jsonFlag, UsageError } from "../command.ts";
import { CommandError, exitCodes, refused } from "../exit-codes.ts";
import {
  firstProgram,
  frameworkNames,
  frameworks,
  type Framework,
  type FrameworkName,
} from "../first-program/program.ts";
import { storeNames, stores, type FirstStore, type StoreName } from "../first-program/stores.ts";

interface Manifest {
  readonly type?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

function manifestOf(folder: string): Manifest | undefined {
  const path = join(folder, "package.json");
  if (!existsSync(path)) return undefined;
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Manifest;
  } catch (error) {
    throw new CommandError("error", `package.json cannot be read: ${(error as Error).message}`);
  }
}

function chosen<Name extends string>(
  option: string,
  given: string | undefined,
  names: readonly Name[],
): Name | undefined {
  if (given === undefined) return undefined;
  const name = names.find((each) => each === given);
  if (name === undefined)
    throw new UsageError(`${option}: expected one of ${names.join(", ")}, got ${JSON.stringify(given)}`);
  return name;
}

/** Those that build on others come first: a Nest project may have Express, too. */
const detectOrder: readonly FrameworkName[] = ["nest", "next", "fastify", "hono", "koa", "express"];

function detected(manifest: Manifest | undefined): { readonly framework: FrameworkName; readonly store: StoreName } {
  const has = (sign: string | undefined): boolean =>
    sign !== undefined && (manifest?.dependencies?.[sign] ?? manifest?.devDependencies?.[sign]) !== undefined;
  return {
    framework: detectOrder.find((name) => has(frameworks[name].sign)) ?? "node",
    store: storeNames.find((name) => has((stores[name] as FirstStore).sign)) ?? "sqlite",
  };
}

export const initCommand = defineCommand({
  name: "init",
  summary: "write a first program for your framework and store",
  about: `
Writes three files into this folder: the engine, a protected route of your framework, and the configuration of these
commands. Framework and store are told by package.json, or by options. A file that is there is never overwritten.`,
  flags: {
    framework: {
      type: "string",
      value: "name",
      says: `${frameworkNames.join(", ")}; default: the one in package.json, or node`,
    },
    store: {
      type: "string",
      value: "name",
      says: `${storeNames.join(", ")}; default: that of the driver in package.json, or sqlite`,
    },
    "dry-run": { type: "boolean", says: "prints the files, and writes nothing" },
    ...jsonFlag,
  },
  examples: [
    ["ichido init", "in the folder of your package.json"],
    ["ichido init --framework fastify --store postgres --dry-run", "what it would write"],
  ],
  exits: "5 where one of the files is there already; nothing is written then.",
  async run({ flags, io, print }) {
    const manifest = manifestOf(io.cwd);
    const seen = detected(manifest);
    const framework = chosen("--framework", flags.framework, frameworkNames) ?? seen.framework;
    const store = chosen("--store", flags.store, storeNames) ?? seen.store;
    const files = firstProgram(framework, store, manifest?.type === "module" ? "ts" : "mts");
    const isTrial = flags["dry-run"] === true;
    const there = files.filter(({ path }) => existsSync(join(io.cwd, path)));
    if (there.length > 0 && !isTrial) {
      const names = there.map(({ path }) => path).join(", ");
      throw refused(
        `${names} ${there.length === 1 ? "is" : "are"} there already, and nothing was written: move it, or see --dry-run`,
      );
    }
    for (const { path, text } of files) {
      print.line("file", { path, text, dryRun: isTrial });
      if (isTrial) {
        if (!print.json) io.out(`// ${path}\n${text}\n`);
        continue;
      }
      mkdirSync(dirname(join(io.cwd, path)), { recursive: true });
      // `wx`: whoever made the file meanwhile keeps it.
      writeFileSync(join(io.cwd, path), text, { flag: "wx" });
      print.text(`wrote ${path}`, "green");
    }
    const { packages, devPackages = [], start }: Framework = frameworks[framework];
    const { packages: drivers, devPackages: driverTypes = [], hasTables, needs }: FirstStore = stores[store];
    const program = files.at(-1)?.path ?? "";
    const runner = framework === "nest" ? ["tsx"] : [];
    const next = [
      `npm install ${["ichido", ...packages, ...drivers].join(" ")}`,
      `npm install --save-dev ${[...new Set(["typescript", "@types/node", ...devPackages, ...driverTypes, ...runner])].join(" ")}`,
      ...(needs === undefined ? [] : [`export ${needs}`]),
      ...(hasTables ? ["npx ichido migrate"] : []),
      start(program),
      "npx ichido doctor",
    ];
    print.line("next", { framework, store, commands: next });
    print.note(`${framework} with ${store}. Next:\n${next.map((line) => `  ${line}`).join("\n")}`);
    return exitCodes.ok;
  },
});
