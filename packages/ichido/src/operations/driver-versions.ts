/** Drivers that are older than ichido was tried with. `package.json` has the same ranges for npm; a test compares them. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { findingOf, type Finding } from "../core/contract/finding.ts";

export const driverMinimum: Readonly<Record<string, string>> = {
  pg: "8.11.0",
  postgres: "3.4.9",
  mysql2: "3.9.0",
  mariadb: "3.3.0",
  ioredis: "5.4.0",
  redis: "5.0.0",
  "better-sqlite3": "13.0.0",
};

/** As a program in the working directory would find it. */
export function installedVersion(name: string): string | undefined {
  for (let folder = process.cwd(); ; folder = dirname(folder)) {
    try {
      const text = readFileSync(join(folder, "node_modules", name, "package.json"), "utf8");
      const { version } = JSON.parse(text) as { readonly version?: unknown };
      return typeof version === "string" ? version : undefined;
    } catch {
      if (dirname(folder) === folder) return undefined;
    }
  }
}

export function isOlder(version: string, minimum: string): boolean {
  const parts = version.split(".").map((part) => Number.parseInt(part, 10));
  for (const [at, wanted] of minimum.split(".").map(Number).entries()) {
    const part = parts[at] ?? 0;
    if (part !== wanted) return part < wanted;
  }
  return false;
}

export function checkDriver(driver: string | undefined, versionOf: (name: string) => string | undefined): Finding[] {
  const minimum = driver === undefined ? undefined : driverMinimum[driver];
  if (driver === undefined || minimum === undefined) return [];
  const version = versionOf(driver);
  if (version === undefined || !isOlder(version, minimum)) return [];
  const what = `the driver ${driver} is version ${version}; ichido is tried from ${minimum} on`;
  return [findingOf("driver-old", what, `npm install ${driver}@latest`)];
}
