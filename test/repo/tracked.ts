/** The files that a clone of this repository would hold. */
import { execFileSync } from "node:child_process";
import type { ExecFileSyncOptionsWithStringEncoding } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = join(dirname(fileURLToPath(import.meta.url)), "../..");

export function trackedFiles(): string[] {
  return (listedByGit() ?? listedByHand()).filter((path) => existsSync(join(root, path)));
}

function listedByGit(): string[] | undefined {
  try {
    const options: ExecFileSyncOptionsWithStringEncoding = {
      cwd: root,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    };
    return execFileSync("git", ["ls-files", "-z"], options)
      .split("\0")
      .filter((path) => path !== "");
  } catch {
    return undefined;
  }
}

/** Where there is no git, or no history: what git would ignore is left out. */
function listedByHand(): string[] {
  const ignored = read(".gitignore")
    .split("\n")
    .filter((line) => line !== "");
  const isIgnored = (name: string): boolean =>
    name === ".git" ||
    ignored.some((line) => (line.startsWith("*") ? name.endsWith(line.slice(1)) : name === line.replace("/", "")));
  const walk = (folder: string): string[] =>
    readdirSync(join(root, folder), { withFileTypes: true })
      .filter((entry) => !isIgnored(entry.name))
      .flatMap((entry) => (entry.isDirectory() ? walk(`${folder}${entry.name}/`) : [`${folder}${entry.name}`]));
  return walk("");
}

export function read(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

const binary = /\.(png|jpg|gif|ico|woff2?|gz|zip|db)$/;

export function textFiles(): string[] {
  return trackedFiles().filter((path) => !binary.test(path));
}

/** `path:line: text` for every line that the pattern matches. */
export function linesMatching(paths: readonly string[], pattern: RegExp): string[] {
  return paths.flatMap((path) =>
    read(path)
      .split("\n")
      .flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}: ${line.trim().slice(0, 160)}`] : [])),
  );
}
