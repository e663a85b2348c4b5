/** The `.sql` files as statements ready to send: macros written out, comments gone, named parameters in their order. */
import { mysqlClockUs } from "../../sql/dialect.ts";
import { expandText, fixedStatement, valueOf } from "../../sql/statement.ts";
import { statements } from "./statements.generated.ts";

/** Bytes, integers and null alone: no text is ever quoted, so no `sql_mode` and no character set can change a value. */
export type Value = Buffer | number | null;
export type Values = Readonly<Record<string, Value>>;

export interface Statement {
  readonly sql: string;
  bind(values: Values): Value[];
}

/** What several statements say alike, written once: the moment a statement began, and the rules (`sql/rule-*.sql`). */
const macros: Readonly<Record<string, string>> = {
  now: mysqlClockUs,
  listed: statements.ruleListed,
  seen: statements.ruleSeen,
  live: statements.ruleLive,
  doubtful: statements.ruleDoubtful,
  unknown: statements.ruleUnknown,
  happened: statements.ruleHappened,
  unfinished: statements.ruleUnfinished,
  own: statements.ruleOwn,
  later: statements.ruleLater,
  secondsLeft: `greatest(0.000001, ({untilUs} - ${mysqlClockUs}) / 1000000)`,
};

function prepare(text: string): Statement {
  const { sql, names } = fixedStatement("mysql", text);
  return { sql, bind: (values) => names.map((name) => valueOf(values, name)) };
}

const claimRow = "(`key` = ? and scope_hash = ? and owner = ? and fence = ?)";
const identityRow = "(r.`key` = ? and r.scope_hash = ?)";
const labelRow = "(label_hash = ? and `key` = ? and scope_hash = ?)";

const sweptLabelRow = "(l.label_hash = ? and l.`key` = ? and l.scope_hash = ?)";
const notedRow = "(s.`key` = ? and s.scope_hash = ?)";
const attemptRow = "({now}, ?, ?, ?, {now} - ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

const bornRow =
  "(?, ?, ?, ?, ?, ?, ?, ?, ?, 'processing', 'new', ?, 1, ?, ?, {now}, fence, fence, fence, fence + ?, fence + ?," +
  " if(?, null, fence + ?))";

/** Records that a label may belong to: completed ones by the index of labels, open ones by the index of states. */
const labelled =
  "(select l.`key`, l.scope_hash from {labels} l where l.label_hash = :labelHash" +
  " union select o.`key`, o.scope_hash from {records} o where o.state in ('processing', 'failed') and o.labels is not null)" +
  " i straight_join {records} r on r.`key` = i.`key` and r.scope_hash = i.scope_hash";

const made =
  "{resources} m straight_join {records} r on r.`key` = m.`key` and r.scope_hash = m.scope_hash and r.life = m.life";

/** What a listing may ask for. The state stands in the text: as bytes it would not be compared by the index. */
const filters = {
  after: "(r.`key` > :afterKey or (r.`key` = :afterKey and r.scope_hash > :afterHash))",
  key: "r.`key` = :key",
  tenant: "r.tenant = :tenant",
  principal: "r.principal = :principal",
  operation: "r.operation = :operation",
  processing: "r.state = 'processing' and not ({unknown})",
  completed: "r.state = 'completed'",
  failed: "r.state = 'failed'",
  unknown: "{unknown}",
  resource: "m.kind = :kind and m.id = :id",
  label: "(locate(:labelFirst, r.labels) = 1 or locate(:labelNext, r.labels) > 1)",
} as const;

const tableNames = [
  "records",
  "labels",
  "steps",
  "audit",
  "clock",
  "attempts",
  "log_pages",
  "processes",
  "twins",
  "resources",
  "log_sweep",
  "engines",
];

export type ListFilter = keyof typeof filters;

export type StatementName = keyof typeof statements;
/** Statements with as many rows as there are things to do. */
type ManyRows =
  | "look"
  | "claimMany"
  | "completeMany"
  | "renew"
  | "held"
  | "sweep"
  | "sweepSteps"
  | "addLabels"
  | "forgetLabels"
  | "log"
  | "crowded"
  | "sweepLabels"
  | "sweepResources"
  | "sweepAttempts"
  | "sweepTwins"
  | "sweepLog";
type SingleName = Exclude<StatementName, ManyRows | "list">;
export type Dialect = ReturnType<typeof createDialect>;

export function createDialect(prefix: string) {
  const tables: Record<string, string> = { prefix };
  for (const table of tableNames) tables[table] = `${prefix}${table}`;
  const cache = new Map<StatementName, Statement>();

  const text = (name: StatementName): string => expandText(statements[name], { ...macros, ...tables });
  const manyRows = (name: ManyRows, row: string, separator: string) => {
    const [head = "", tail = ""] = text(name).split("{rows}");
    const next = separator + row;
    return (count: number): string => head + row + next.repeat(count - 1) + tail;
  };

  function statement(name: SingleName): Statement {
    let found = cache.get(name);
    if (found === undefined) cache.set(name, (found = prepare(text(name))));
    return found;
  }

  const pairRows = manyRows("sweepTwins", identityRow, " or ");
  const completeRows = manyRows("completeMany", claimRow, " or ");

  return {
    prefix,
    statement,
    send<Answer>(run: (sql: string, values: Value[]) => Answer, name: SingleName, values: Values = {}): Answer {
      const found = statement(name);
      return run(found.sql, found.bind(values));
    },
    /** A decision, by the server's clock: the moment stands in the text, which a driver may take for a comment. */
    decide<Answer>(
      run: (sql: string, values: Value[]) => Answer,
      name: "settleAdopt" | "settleRelease" | "settleHold" | "forget",
      values: Values,
      untilUs: number,
    ): Answer {
      const found = statement(name);
      return run(found.sql.replaceAll("{untilUs}", String(untilUs)), found.bind(values));
    },
    look: manyRows("look", identityRow, " or "),
    claimMany: manyRows("claimMany", expandText(bornRow, macros), ", "),
    completeMany: (count: number): string => {
      const all = ", ?".repeat(count);
      return completeRows(count).replaceAll("{its}", `elt(field(owner${all})${all})`);
    },
    renew: manyRows("renew", claimRow, " or "),
    held: manyRows("held", claimRow, " or "),
    sweep: manyRows("sweep", identityRow, " or "),
    sweepSteps: manyRows("sweepSteps", identityRow, " or "),
    addLabels: manyRows("addLabels", "(?, ?, ?)", ", "),
    forgetLabels: manyRows("forgetLabels", labelRow, " or "),
    log: manyRows("log", expandText(attemptRow, macros), ", "),
    crowded: manyRows("crowded", identityRow, " or "),
    sweepLabels: manyRows("sweepLabels", sweptLabelRow, " or "),
    sweepResources: manyRows("sweepResources", identityRow, " or "),
    sweepAttempts: manyRows("sweepAttempts", notedRow, " or "),
    sweepTwins: (count: number, side: "first_key" | "second_key"): string => pairRows(count).replace("{side}", side),
    sweepLog: manyRows("sweepLog", "a.id = ?", " or "),
    list(wanted: readonly ListFilter[]): Statement {
      const source = wanted.includes("resource") ? made : wanted.includes("label") ? labelled : "{records} r";
      const where = wanted.map((name) => filters[name]).join(" and ");
      return prepare(
        expandText(statements.list, { ...macros, ...tables, source, filters: where === "" ? "true" : where }),
      );
    },
  };
}
