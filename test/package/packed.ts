/** The package as a user gets it: built, packed by npm, unpacked into an otherwise empty project. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { packPackage, tell } from "../../scripts/pack.ts";

export const root = join(dirname(fileURLToPath(import.meta.url)), "../..");

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly engines?: Readonly<Record<string, string>>;
}

export interface Packed {
  /** The empty project. */
  readonly project: string;
  /** Its `node_modules/ichido`. */
  readonly folder: string;
  readonly manifest: Manifest;
  readonly tarballBytes: number;
  /** Every file, relative to `folder`. */
  readonly files: readonly string[];
  /** The specifiers a user may import. */
  readonly subpaths: readonly string[];
  read(file: string): string;
  /** Runs a program in the project; rejects with what it printed. */
  run(program: string, args: readonly string[]): Promise<string>;
  remove(): void;
}

export async function pack(): Promise<Packed> {
  const place = mkdtempSync(join(tmpdir(), "ichido-package-"));
  try {
    return await packInto(place);
  } catch (error) {
    rmSync(place, { recursive: true, force: true });
    throw error;
  }
}

async function packInto(place: string): Promise<Packed> {
  const project = join(place, "project");
  const folder = join(project, "node_modules", "ichido");
  mkdirSync(folder, { recursive: true });
  const tarball = await packPackage(place);
  await tell("tar", ["-xzf", tarball, "-C", folder, "--strip-components=1"], place);
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "project", private: true, type: "module" }));

  const read = (file: string): string => readFileSync(join(folder, file), "utf8");
  const manifest = JSON.parse(read("package.json")) as Manifest;
  return {
    project,
    folder,
    manifest,
    tarballBytes: statSync(tarball).size,
    files: readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
      .toSorted(),
    subpaths: Object.keys(manifest.exports)
      .filter((key) => !key.endsWith(".json"))
      .map((key) => `${manifest.name}${key.slice(1)}`),
    read,
    run: (program, runArgs) => tell(program, runArgs, project),
    remove: () => rmSync(place, { recursive: true, force: true }),
  };
}
