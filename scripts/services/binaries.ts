/** Where the programs are. Debian keeps servers outside the PATH of ordinary users. */
import { accessSync, constants, existsSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";

const extraFolders = ["/usr/local/bin", "/usr/local/sbin", "/usr/bin", "/usr/sbin", "/bin", "/sbin"];

export function findProgram(name: string): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), ...extraFolders];
  return folders
    .filter((folder) => folder !== "")
    .map((folder) => join(folder, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/**
 * The one in CHROMIUM_PATH, or one that is installed. The shell first: it is the same engine without the windows of a
 * desktop, which a whole Chromium keeps drawing for nobody with four times the work.
 */
export function findBrowser(): string | undefined {
  const given = process.env["CHROMIUM_PATH"];
  if (given !== undefined && given !== "") return given;
  const programs = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
  return programs.map(findProgram).find((path) => path !== undefined);
}

/** The newest of the versioned folders that distributions use, such as /usr/lib/postgresql/15/bin. */
export function newestFolder(parent: string, prefix: string, inside: string): string | undefined {
  if (!existsSync(parent)) return undefined;
  return readdirSync(parent)
    .filter((name) => name.startsWith(prefix))
    .toSorted((a, b) => b.localeCompare(a, "en", { numeric: true }))
    .map((name) => join(parent, name, inside))
    .find((path) => existsSync(path));
}

export class ProgramMissing extends Error {
  override readonly name = "ProgramMissing";
  readonly service: string;
  constructor(service: string, program: string) {
    super(`${program} is not installed; \`npm run services:install\` adds it on Debian as root`);
    this.service = service;
  }
}

export function requireProgram(service: string, name: string): string {
  const path = findProgram(name);
  if (path === undefined) throw new ProgramMissing(service, name);
  return path;
}
