import type { SchemaPart } from "../../sql/migration.ts";
import { migrations } from "./statements.generated.ts";

/** The tables of the store, for its migrator and for whoever exports them. */
export function recordsPart(prefix: string): SchemaPart {
  return { part: "records", dialect: "mysql", migrations, prefix };
}
