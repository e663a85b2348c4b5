/** The statements with this store's table names in them, made once at construction. */
import { createHash } from "node:crypto";
import type { Statement } from "./connection.ts";
import type { Migration } from "../../sql/migration.ts";
import { expandText } from "../../sql/statement.ts";
import { namedTables } from "../../sql/table-prefix.ts";
import type { ResolvedOptions } from "./options.ts";
import { migrations, statements } from "./statements.generated.ts";

/** Parts of statements (`rule-*`) are put into others, and never sent. */
export type StatementName = Exclude<keyof typeof statements, `rule${string}`>;
export type Statements = Readonly<Record<StatementName, Statement>>;

type Names = Pick<ResolvedOptions, "schema" | "tablePrefix">;

export function prefixOf({ schema, tablePrefix }: Names): string {
  return schema === undefined ? tablePrefix : `"${schema}".${tablePrefix}`;
}

export function nameTables(names: Names, text: string): string {
  return namedTables(prefixOf(names), text);
}

export function statementOf(verb: string, text: string): Statement {
  const digest = createHash("sha256").update(text).digest("hex").slice(0, 12);
  return { name: `ichido_${verb}_${digest}`, text };
}

const rules = {
  recorded: statements.ruleRecorded,
  wanted: statements.ruleWanted,
  attempted: statements.ruleAttempted,
  paired: statements.rulePaired,
};

const frequent: ReadonlySet<string> = new Set<StatementName>(["claim", "complete", "startStep", "finishStep"]);

export function statementsFor(names: Names): Statements {
  const entries = Object.entries(statements).map(([verb, text]) => {
    const statement = statementOf(verb, nameTables(names, expandText(text, rules)));
    return [verb, { ...statement, frequent: frequent.has(verb), tellsBackend: verb === "claim" }];
  });
  // eslint-disable-next-line typescript/no-unsafe-type-assertion -- the same keys, mapped
  return Object.fromEntries(entries) as Statements;
}

export const knownMigrations: readonly Migration[] = migrations;

/** Where notifications about records of these tables go: one channel, so that one LISTEN serves all. */
export function channelFor({ schema, tablePrefix }: Names): string {
  const name = `${schema ?? ""}.${tablePrefix}`;
  return `ichido_${createHash("sha256").update(name).digest("hex").slice(0, 16)}`;
}
