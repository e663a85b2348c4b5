/** The package as a user gets it: built, packed by npm, unpacked into an otherwise empty project. */
import { execFile } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);

export const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const source = join(root, "packages", "ichido");

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
  const stage = join(place, "stage");
  const project = join(place, "project");
  const folder = join(project, "node_modules", "ichido");
  // A copy, so that neither an old `dist` of the checkout nor a build that runs meanwhile can get in.
  mkdirSync(join(stage, "packages"), { recursive: true });
  cpSync(source, join(stage, "packages", "ichido"), {
    recursive: true,
    filter: (path) => !["dist", "node_modules"].includes(relative(source, path).split("/")[0] ?? ""),
  });
  cpSync(join(root, "tsconfig.base.json"), join(stage, "tsconfig.base.json"));
  symlinkSync(join(root, "node_modules"), join(stage, "node_modules"));
  mkdirSync(folder, { recursive: true });

  await tell(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-b", "packages/ichido"], stage);
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", place];
  const report: unknown = JSON.parse(await tell("npm", args, join(stage, "packages", "ichido")));
  const tarball = Array.isArray(report) ? String(report[0].filename) : "";
  await tell("tar", ["-xzf", join(place, tarball), "-C", folder, "--strip-components=1"], place);
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "project", private: true, type: "module" }));

  const read = (file: string): string => readFileSync(join(folder, file), "utf8");
  const manifest = JSON.parse(read("package.json")) as Manifest;
  return {
    project,
    folder,
    manifest,
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

async function tell(program: string, args: readonly string[], cwd: string): Promise<string> {
  if (!existsSync(cwd)) throw new Error(`${cwd} is not there`);
  try {
    // Without the variables of the npm that may be running the tests: they would point into the checkout.
    const env = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !name.startsWith("npm_") && name !== "NODE_OPTIONS"),
    );
    return (await run(program, args, { cwd, env, maxBuffer: 16_777_216 })).stdout;
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program} ${args.join(" ")} failed:\n${stdout}${stderr}`, { cause: error });
  }
}
