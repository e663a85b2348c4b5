import type { SchemaPart } from "../../sql/migration.ts";
import { migrationsFor } from "./statements.ts";

/** The tables of the store, for its migrator and for whoever exports them. */
export function recordsPart(prefix: string): SchemaPart {
  return { part: "records", dialect: "sqlite", migrations: migrationsFor(prefix), prefix };
}
