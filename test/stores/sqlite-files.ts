/** Temporary SQLite files and the two drivers that open them. */
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { SqliteDatabase } from "ichido/sqlite";

export interface OpenDatabase extends SqliteDatabase {
  close(): unknown;
}

type Constructor = new (path: string, options?: { readonly readonly?: boolean }) => OpenDatabase;

// Plain require: the package has no types of its own, and its binary is found beside its code.
const BetterSqlite = createRequire(import.meta.url)("better-sqlite3") as Constructor;

export const drivers = {
  "node:sqlite": (path: string): OpenDatabase => new DatabaseSync(path),
  "better-sqlite3": (path: string): OpenDatabase => new BetterSqlite(path),
} as const;

export const readers = {
  "node:sqlite": (path: string): OpenDatabase => new DatabaseSync(path, { readOnly: true }),
  "better-sqlite3": (path: string): OpenDatabase => new BetterSqlite(path, { readonly: true }),
} as const;

export interface TemporaryFile {
  readonly folder: string;
  readonly path: string;
  readonly remove: () => void;
}

export function temporaryFile(): TemporaryFile {
  const folder = mkdtempSync(join(tmpdir(), "ichido-sqlite-"));
  return { folder, path: join(folder, "ichido.db"), remove: () => rmSync(folder, { recursive: true, force: true }) };
}
