/** What importing the subpaths of the package loads and gives, in a process of its own. */
import { tell } from "../../scripts/pack.ts";

export interface Imported {
  /** Names by subpath. */
  readonly names: Readonly<Record<string, readonly string[]>>;
  /** Names that several subpaths give, and how many things they are. */
  readonly twins: Readonly<Record<string, number>>;
  /** Files of the package, from its folder, and built-ins that importing these subpaths loads. */
  loadedBy(...subpaths: readonly string[]): ReadonlySet<string>;
}

const program = `
import { registerHooks } from "node:module";
const imports = {};
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    (imports[context.parentURL] ??= []).push(found.url);
    return found;
  },
});
const subpaths = JSON.parse(process.argv[1]);
const modules = await Promise.all(subpaths.map((subpath) => import(subpath)));
const given = Map.groupBy(modules.flatMap(Object.entries), ([name]) => name);
console.log(JSON.stringify({
  imports,
  entries: Object.fromEntries(subpaths.map((subpath) => [subpath, import.meta.resolve(subpath)])),
  names: Object.fromEntries(modules.map((module, index) => [subpaths[index], Object.keys(module)])),
  twins: Object.fromEntries([...given].map(([name, all]) => [name, new Set(all.map(([, value]) => value)).size])),
}));
`;

export async function importAll(
  subpaths: readonly string[],
  cwd: string,
  flags: readonly string[] = [],
): Promise<Imported> {
  const args = ["--disable-warning=ExperimentalWarning", ...flags, "--input-type=module", "--eval", program];
  const { imports, entries, names, twins } = JSON.parse(
    await tell(process.execPath, [...args, JSON.stringify(subpaths)], cwd),
  ) as Pick<Imported, "names" | "twins"> & {
    readonly imports: Readonly<Record<string, readonly string[]>>;
    readonly entries: Readonly<Record<string, string>>;
  };
  return {
    names,
    twins,
    loadedBy(...some) {
      const urls = new Set(some.map((subpath) => entries[subpath] ?? ""));
      // A set that is walked also gives what is added on the way.
      for (const url of urls) imports[url]?.forEach((imported) => urls.add(imported));
      return new Set([...urls].map((url) => url.replace(/^file:.*\/ichido\/(?=src\/|dist\/)/, "")));
    },
  };
}
