/**
 * The JavaScript of the package: its modules put together into few files, because each file that Node opens costs an
 * importing process more than what stands in it (ADR 42). Declarations come from tsc, module by module.
 */
import { globSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { dirname, isAbsolute, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

/** What people and tests run beside a service; they use a bit of every room, and would tear all others into pieces. */
const tools = /^(testing|conform|console|operations)\/|^cli\/bin\.ts$/;
/** What browsers download: little, so that not even what a file would bring along for others may stand in theirs. */
const browser = /^(client|react)\//;
/** What also runs where Node's streams and sockets are not. */
const edge = /^adapters\/(fetch|hono)\.ts$/;

/** Gives the file in which a module goes, or null: where the bundler likes. All paths are below `src`. */
type Placing = (module: string) => string | null;

/**
 * What only one entry point uses goes in its file, and what several use in that of its room: so nobody loads what is
 * another's alone. No file needs another in a circle, as rooms do not, and as a module is used by whoever uses its users.
 */
function placing(entries: readonly string[], importsOf: (module: string) => readonly string[]): Placing {
  const users = new Map<string, string[]>();
  const anywhere = new Set<string>();
  for (const entry of entries) {
    const used = new Set([entry]);
    for (const module of used) importsOf(module).forEach((imported) => used.add(imported));
    if (![...used].some((module) => module.startsWith("node:"))) anywhere.add(entry);
    if (!tools.test(entry)) for (const module of used) users.set(module, [...(users.get(module) ?? []), entry]);
  }
  return (module) => {
    const [first, ...others] = users.get(module) ?? [];
    if (first === undefined) return null;
    if (others.length === 0) return first === "index.ts" ? "engine" : nameOf(first.replace(/\.ts$/, ""));
    const [room = ""] = module.split("/");
    const all = [first, ...others];
    if (all.some((entry) => browser.test(entry))) return `${room}-browser`;
    // Those who need no built-in must not load the part of a room that does.
    if (all.some((entry) => anywhere.has(entry))) return `${room}-anywhere`;
    if (room === "http" && all.some((entry) => edge.test(entry))) return "http-edge";
    // A driver is nothing to those who use another.
    return room === "drivers" ? nameOf(dirname(module)) : room;
  };
}

const nameOf = (path: string): string => path.replaceAll("/", "-");

interface Manifest {
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
}

/** Writes the code of the package in `folder` into its `dist`, in place of what is there. */
export async function bundlePackage(folder: string): Promise<void> {
  // As the bundler names modules, whatever link led here.
  const source = realpathSync(join(folder, "src"));
  const target = join(folder, "dist");
  const { bin, exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  const names = [...Object.values(exports), ...Object.values(bin)]
    .map((to) => (typeof to === "string" ? to : to.default))
    .flatMap((to) => /^\.\/dist\/(.+)\.js$/.exec(to)?.[1] ?? []);
  const below = (id: string): string => (isAbsolute(id) ? relative(source, id) : id);
  let place: Placing | undefined;
  const bundle = await rolldown({
    cwd: folder,
    input: Object.fromEntries(names.map((name) => [name, join(source, `${name}.ts`)])),
    external: /^[^./]/,
    platform: "node",
    transform: { target: "es2023" },
    // Asked for by `includeDependenciesRecursively`; a test sees that no entry point gets a name too many.
    preserveEntrySignatures: "allow-extension",
  });
  globSync("**/*.{js,js.map}", { cwd: target }).forEach((file) => rmSync(join(target, file)));
  await bundle.write({
    dir: target,
    entryFileNames: "[name].js",
    // One folder down, as the modules that read the manifest from there are in the source.
    chunkFileNames: ({ moduleIds }) =>
      moduleIds.every((id) => below(id).startsWith("cli/")) ? "cli/[name].js" : "chunks/[name].js",
    minifyInternalExports: false,
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [
        {
          debugName: "rooms",
          name(id, context) {
            place ??= placing(
              names.map((name) => `${name}.ts`),
              (module) => (context.getModuleInfo(join(source, module))?.importedIds ?? []).map(below),
            );
            return place(below(id));
          },
        },
      ],
    },
  });
  await bundle.close();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await bundlePackage(join(dirname(fileURLToPath(import.meta.url)), "..", "packages", "ichido"));
}
