/** The tables as files for the tool that a project migrates with. */
import type { Dialect } from "../sql/dialect.ts";
import { wholeSchema, type FullPlan, type PlannedMigration } from "../sql/migrator.ts";
import { checkPrefix } from "../sql/table-prefix.ts";
import { inboxPart } from "../inbox/schema.ts";
import { outboxPart } from "../outbox/schema.ts";
import { recordsPart as mysqlRecords } from "../stores/mysql/schema.ts";
import { recordsPart as postgresRecords } from "../stores/postgres/schema.ts";
import { recordsPart as sqliteRecords } from "../stores/sqlite/schema.ts";
import { UsageError } from "./exit-codes.ts";
import type { PartName } from "./schema-migrators.ts";
import type { Tables } from "./store-address.ts";

export const tools = ["sql", "drizzle", "knex"] as const;
export type Tool = (typeof tools)[number];

export interface Exported {
  readonly dialect: Dialect;
  readonly steps: readonly ExportedStep[];
}

export interface ExportedStep extends PlannedMigration {
  readonly part: PartName;
}

const recordsParts = { mysql: mysqlRecords, postgres: postgresRecords, sqlite: sqliteRecords } as const;

/** Without a project: the tables are named as they are told to be. */
export function exportedByName(dialect: Dialect, parts: readonly PartName[], tables: Tables): Exported {
  const prefix = checkPrefix(dialect, tables.tablePrefix, tables.schema);
  const schemas = {
    records: () => recordsParts[dialect](prefix),
    outbox: () => outboxPart(dialect, prefix),
    inbox: () => inboxPart(dialect, prefix),
  };
  const steps = parts.flatMap((part) => wholeSchema(schemas[part]()).map((step) => ({ part, ...step })));
  return { dialect, steps };
}

export interface PartPlan extends FullPlan {
  readonly part: PartName;
}

/** Of a program's own store, outbox and inbox. Files for one tool are of one database. */
export function exportedFrom(plans: readonly PartPlan[], wanted: Dialect | undefined): Exported {
  const dialect = wanted ?? plans[0]?.dialect;
  if (dialect === undefined) throw new UsageError("the configuration has no part with tables");
  const other = plans.find((each) => each.dialect !== dialect);
  if (other !== undefined)
    throw new UsageError(
      wanted === undefined
        ? `--part: give one; the ${other.part} is on ${other.dialect}, the ${plans[0]?.part} on ${dialect}`
        : `--dialect: the ${other.part} of the configuration is on ${other.dialect}; for other tables give --store`,
    );
  return { dialect, steps: plans.flatMap(({ part, steps }) => steps.map((step) => ({ part, ...step }))) };
}

/** The same in every export, so that a file that is there is known again. */
function stemOf({ part, version, name }: ExportedStep): string {
  return `ichido_${part}_${String(version).padStart(4, "0")}_${name}`;
}

export interface ExportedFile {
  readonly name: string;
  readonly text: string;
}

const head = (step: ExportedStep, comment: string): string =>
  `${comment} ichido ${step.part} ${step.version}: ${step.name}. Written by ichido export; forward only.\n`;

/** Knex puts bindings in place of question marks, also in texts. */
const forKnex = (sql: string): string => JSON.stringify(sql.replaceAll("?", "\\?"));

const fileOf: Readonly<Record<Tool, (step: ExportedStep) => ExportedFile>> = {
  sql: (step) => ({
    name: `${stemOf(step)}.sql`,
    text: `${head(step, "--")}${step.statements.map((sql) => `${sql};\n`).join("\n")}`,
  }),
  drizzle: (step) => ({
    name: `${stemOf(step)}.sql`,
    text: `${head(step, "--")}${step.statements.map((sql) => `${sql};\n`).join("--> statement-breakpoint\n")}`,
  }),
  knex: (step) => ({
    name: `${stemOf(step)}.mjs`,
    text: `${head(step, "//")}export async function up(knex) {
${step.statements.map((sql) => `  await knex.raw(${forKnex(sql)});`).join("\n")}
}

export async function down() {
  throw new Error("migrations of ichido are forward only");
}
`,
  }),
};

export function exportedFiles(tool: Tool, steps: readonly ExportedStep[]): readonly ExportedFile[] {
  return steps.map((step) => fileOf[tool](step));
}

interface Journal {
  readonly version: string;
  readonly dialect: string;
  readonly entries: readonly { readonly idx: number; readonly when: number; readonly tag: string }[];
}

const drizzleDialects: Readonly<Record<Dialect, string>> = { postgres: "postgresql", mysql: "mysql", sqlite: "sqlite" };

/** Drizzle runs what its journal names, in the order of `when`, which must be later than all that ran before. */
export function drizzleJournal(
  text: string | undefined,
  dialect: Dialect,
  added: readonly ExportedFile[],
  nowMs: number,
): string {
  const journal: Journal =
    text === undefined
      ? { version: "7", dialect: drizzleDialects[dialect], entries: [] }
      : (JSON.parse(text) as Journal);
  const last = Math.max(0, ...journal.entries.map(({ when }) => when));
  const entries = added.map(({ name }, index) => ({
    idx: journal.entries.length + index,
    version: "7",
    when: Math.max(nowMs, last + 1) + index,
    tag: name.replace(/\.sql$/, ""),
    breakpoints: true,
  }));
  return `${JSON.stringify({ ...journal, entries: [...journal.entries, ...entries] }, undefined, 2)}\n`;
}
