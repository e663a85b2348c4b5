/** What a module of the package gives to those who import it, types included, read from its source. */
import { dirname, join } from "node:path/posix";
import { read } from "./tracked.ts";

const lists = /^export (?:type )?\{([^}]*)\}(?: from "(\.[^"]+)")?;/gm;
const stars = /^export (?:type )?\* from "(\.[^"]+)";/gm;
const declared =
  /^export (?:declare )?(?:async )?(?:abstract )?(?:function\*?|const|let|class|interface|type|enum) (\w+)/gm;

/** `a`, `type B` and `C as D`, as what they are called inside and outside. */
function itemsOf(list: string): readonly (readonly [inside: string, outside: string])[] {
  const items = list.replaceAll(/\/\*[^]*?\*\/|\/\/.*$/gm, "").split(",");
  return items.flatMap((item) => {
    const [, inside = "", outside = inside] = /^\s*(?:type )?(\w+)(?: as (\w+))?\s*$/.exec(item) ?? [];
    return inside === "" ? [] : [[inside, outside] as const];
  });
}

/** By name, where each is declared: `path#name`. */
export function exportedNames(path: string): ReadonlyMap<string, string> {
  const source = read(path);
  const beside = (from: string): string => join(dirname(path), from);
  /** A name that is imported and given on has its declaration elsewhere. */
  function originOf(name: string, from: string | undefined): string {
    if (from !== undefined) return exportedNames(beside(from)).get(name) ?? `${beside(from)}#${name}`;
    const imports = [...source.matchAll(/^import (?:type )?\{([^}]*)\} from "(\.[^"]+)";/gm)];
    const [, , file] = imports.find(([, list = ""]) => itemsOf(list).some(([, outside]) => outside === name)) ?? [];
    return file === undefined ? `${path}#${name}` : originOf(name, file);
  }
  return new Map([
    ...[...source.matchAll(stars)].flatMap(([, from = ""]) => [...exportedNames(beside(from))]),
    ...[...source.matchAll(lists)].flatMap(([, list = "", from]) =>
      itemsOf(list).map(([inside, outside]) => [outside, originOf(inside, from)] as const),
    ),
    ...[...source.matchAll(declared)].map(([, name = ""]) => [name, `${path}#${name}`] as const),
  ]);
}

interface Package {
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
}

export interface PublicModule {
  /** `./src/…`, as the package's list has it. */
  readonly source: string;
  readonly names: ReadonlyMap<string, string>;
}

/** By subpath, in the order of the package's own list. */
export function exportsOfPackage(): ReadonlyMap<string, PublicModule> {
  const { exports } = JSON.parse(read("packages/ichido/package.json")) as Package;
  const modules = Object.entries(exports).flatMap(([path, target]) => {
    if (typeof target === "string") return [];
    const source = target["ichido-source"] ?? "";
    return [[path, { source, names: exportedNames(join("packages/ichido", source)) }] as const];
  });
  return new Map(modules);
}
