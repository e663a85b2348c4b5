/**
 * Tables, columns and indexes that the migrations made and that are not there any more: somebody dropped them, or a
 * restore left them out. Read from the texts of the migrations, so that no second list has to be kept.
 */
import type { Dialect } from "./dialect.ts";
import type { SchemaPart } from "./migration.ts";
import { splitStatements, type SchemaTalk } from "./schema-dialects.ts";
import { namedTables } from "./table-prefix.ts";

export interface Drift {
  readonly kind: "table" | "column" | "index";
  /** `records`, `records.labels`, with the prefix. */
  readonly name: string;
  /** What brings it back, empty. */
  readonly statement: string;
}

interface Expected extends Drift {
  readonly table: string;
}

const tablePattern = /^create table (?:if not exists )?(\S+)\s*\(/i;
const addedPattern = /^alter table (\S+)\s+add column (\S+)/i;
const indexPattern = /^create (?:unique )?index (?:if not exists )?(\S+) on (\S+)/i;
const droppedPattern = /^drop table (?:if exists )?(\S+)$/i;
const tableWords = /^(?:primary key|unique|check|constraint|foreign key|exclude)\b/i;
/** MySQL's own way to write an index beside the columns. */
const innerIndex = /^key (\S+) (\([^]*\))$/i;

/** Up to the bracket that ends it, at commas that no further bracket encloses. */
function membersOf(body: string): readonly string[] {
  const members = [""];
  let depth = 0;
  for (const letter of body) {
    if (letter === "(") depth += 1;
    if (letter === ")") depth -= 1;
    if (depth < 0) break;
    if (letter === "," && depth === 0) members.push("");
    else members[members.length - 1] += letter;
  }
  return members.map((member) => member.replaceAll(/\s+/g, " ").trim()).filter((member) => member !== "");
}

/** A restored index of PostgreSQL lies in the schema of its table. */
function placed(index: string, table: string): string {
  const [schema] = /^"[^"]+"\./.exec(table) ?? [""];
  return schema + index;
}

function expectedBy(statement: string): readonly Expected[] {
  const [opening = "", made] = tablePattern.exec(statement) ?? [];
  if (made !== undefined) {
    const members = membersOf(statement.slice(opening.length)).filter((member) => !tableWords.test(member));
    return [
      { kind: "table", name: made, table: made, statement },
      ...members.map((member): Expected => {
        const [, index, columns = ""] = innerIndex.exec(member) ?? [];
        if (index !== undefined) {
          return { kind: "index", name: index, table: made, statement: `create index ${index} on ${made} ${columns}` };
        }
        const [column = ""] = member.split(" ");
        const text = `alter table ${made} add column ${member}`;
        return { kind: "column", name: `${made}.${column}`, table: made, statement: text };
      }),
    ];
  }
  const [, table, column] = addedPattern.exec(statement) ?? [];
  if (table !== undefined) return [{ kind: "column", name: `${table}.${column}`, table, statement }];
  const [, index, indexed = ""] = indexPattern.exec(statement) ?? [];
  if (index === undefined) return [];
  return [{ kind: "index", name: placed(index, indexed), table: indexed, statement }];
}

/** A later migration may drop what an earlier one made, and make it anew. */
function expectedAfter(statements: readonly string[]): readonly Expected[] {
  let expected: readonly Expected[] = [];
  for (const statement of statements) {
    const [, dropped] = droppedPattern.exec(statement) ?? [];
    expected = [...expected.filter(({ table }) => table !== dropped), ...expectedBy(statement)];
  }
  return expected;
}

type Look = (expected: Expected) => string;

function columnOf({ name, table }: Expected): string {
  return name.slice(table.length + 1).replaceAll(/[`"]/g, "");
}

/** Statements with a row where it is there. */
const looks: Readonly<Record<Dialect, Look>> = {
  postgres: (expected) =>
    expected.kind === "column"
      ? `select 1 as found from pg_catalog.pg_attribute where attrelid = to_regclass('${expected.table}') and attname = '${columnOf(expected)}' and not attisdropped`
      : `select 1 as found where to_regclass('${expected.name}') is not null`,
  mysql: (expected) => {
    const { kind, name, table } = expected;
    const from = { table: "tables", column: "columns", index: "statistics" }[kind];
    const more = {
      table: "",
      column: ` and column_name = '${columnOf(expected)}'`,
      index: ` and index_name = '${name}'`,
    };
    return `select 1 as found from information_schema.${from} where table_schema = database() and table_name = '${table}'${more[kind]} limit 1`;
  },
  sqlite: (expected) =>
    expected.kind === "column"
      ? `SELECT 1 AS found FROM pragma_table_info('${expected.table}') WHERE name = '${columnOf(expected)}'`
      : `SELECT 1 AS found FROM sqlite_schema WHERE type = '${expected.kind}' AND name = '${expected.name}'`,
};

/** Only what the ledger says was made; what is still to be made is the plan's. */
export function* driftOf(part: SchemaPart, pending: ReadonlySet<number>): SchemaTalk<readonly Drift[]> {
  const made = part.migrations.filter(({ version }) => !pending.has(version));
  const statements = made.flatMap(({ sql }) => splitStatements(sql));
  const expected = expectedAfter(statements.map((statement) => namedTables(part.prefix, statement)));
  const missing: Expected[] = [];
  for (const each of expected) {
    if (missing.some(({ kind, name }) => kind === "table" && name === each.table)) continue;
    if ((yield looks[part.dialect](each)).length === 0) missing.push(each);
  }
  return missing.map(({ kind, name, statement }) => ({ kind, name, statement }));
}
