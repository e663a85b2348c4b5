/**
 * `npm run pack [-- FOLDER]`: the package as it is published, a tarball in FOLDER (default: here). Built from a copy of the
 * source, so that no older build gets in; without the export condition by which this repository reads its own source.
 */
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { bundlePackage } from "./bundle.ts";

const run = promisify(execFile);
const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const source = join(root, "packages", "ichido");

type Targets = Readonly<Record<string, string>>;

function published(text: string): string {
  const { private: _, exports, ...manifest } = JSON.parse(text) as Record<string, unknown>;
  const open = Object.entries(exports as Record<string, string | Targets>).map(([subpath, targets]) => [
    subpath,
    typeof targets === "string"
      ? targets
      : Object.fromEntries(Object.entries(targets).filter(([condition]) => condition !== "ichido-source")),
  ]);
  return `${JSON.stringify({ ...manifest, exports: Object.fromEntries(open) as unknown }, undefined, 2)}\n`;
}

/** Gives back the path of the tarball. */
export async function packPackage(folder: string): Promise<string> {
  const stage = mkdtempSync(join(tmpdir(), "ichido-pack-"));
  try {
    const copy = join(stage, "packages", "ichido");
    mkdirSync(copy, { recursive: true });
    cpSync(source, copy, {
      recursive: true,
      filter: (path) => !["dist", "node_modules"].includes(relative(source, path).split("/")[0] ?? ""),
    });
    cpSync(join(root, "tsconfig.base.json"), join(stage, "tsconfig.base.json"));
    cpSync(join(root, "CHANGELOG.md"), join(copy, "CHANGELOG.md"));
    symlinkSync(join(root, "node_modules"), join(stage, "node_modules"));
    writeFileSync(join(copy, "package.json"), published(readFileSync(join(copy, "package.json"), "utf8")));
    // Maps would lead to sources that are not in the tarball.
    const flags = ["--composite", "false", "--incremental", "false", "--declarationMap", "false"];
    await tell(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", ".", ...flags], copy);
    await bundlePackage(copy);
    const printed = await tell("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder], copy);
    const [report] = JSON.parse(printed) as { readonly filename: string }[];
    return join(folder, report?.filename ?? "");
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/** Rejects with what the program printed. */
export async function tell(program: string, args: readonly string[], cwd: string): Promise<string> {
  try {
    // Without the variables of the npm that may be running this: they would point into the checkout.
    const env = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !name.startsWith("npm_") && name !== "NODE_OPTIONS"),
    );
    return (await run(program, args, { cwd, env, maxBuffer: 16_777_216 })).stdout;
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program} ${args.join(" ")} failed:\n${stdout}${stderr}`, { cause: error });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(await packPackage(resolve(process.argv[2] ?? ".")));
