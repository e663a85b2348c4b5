import type { Dialect } from "../sql/dialect.ts";
import type { Migration, SchemaPart } from "../sql/migration.ts";
import { migrations as mysql } from "./mysql/statements.generated.ts";
import { migrations as postgres } from "./postgres/statements.generated.ts";
import { migrations as sqlite } from "./sqlite/statements.generated.ts";

export const migrations: Readonly<Record<Dialect, readonly Migration[]>> = { mysql, postgres, sqlite };

/** The tables of the inbox, for whoever exports them. */
export function inboxPart(dialect: Dialect, prefix: string): SchemaPart {
  return { part: "inbox", dialect, migrations: migrations[dialect], prefix };
}
