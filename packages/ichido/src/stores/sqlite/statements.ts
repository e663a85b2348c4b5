/** The statements and migrations with this store's table names in them, made once at construction. */
import type { Migration } from "../../sql/migration.ts";
import { expandText } from "../../sql/statement.ts";
import { prefixDefault } from "../../sql/table-prefix.ts";
import { migrations, statements } from "./statements.generated.ts";

export type Statements = Readonly<Record<keyof typeof statements, string>>;

export function statementsFor(prefix: string): Statements {
  const tokens = { prefix, listed: statements.ruleListed, stepsCount: statements.ruleStepsCount };
  const entries = Object.entries(statements).map(([verb, text]) => [verb, expandText(text, tokens)]);
  // eslint-disable-next-line typescript/no-unsafe-type-assertion -- the same keys, mapped
  return Object.fromEntries(entries) as Statements;
}

/** The texts name tables by the default prefix. Ledgers keep checksums of these texts, so they are never edited. */
export function migrationsFor(prefix: string): readonly Migration[] {
  return migrations.map((step) => ({ ...step, sql: step.sql.replaceAll(prefixDefault, prefix) }));
}
