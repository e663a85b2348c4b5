import type { SchemaPart } from "../../sql/migration.ts";
import { knownMigrations } from "./statements.ts";

/** The tables of the store, for its migrator and for whoever exports them. */
export function recordsPart(prefix: string): SchemaPart {
  return {
    part: "records",
    dialect: "postgres",
    migrations: knownMigrations,
    prefix,
    tables: [
      "records",
      "steps",
      "audit",
      "clock",
      "log_pages",
      "attempts",
      "processes",
      "twins",
      "resources",
      "log_sweep",
      "open_records",
      "open_until",
      "engines",
    ],
  };
}
