/** The `.sql` files as statements ready to send: macros written out, comments gone, named parameters in their order. */
import type { Takeover } from "../../core/store.ts";
import { leaseMaxUs } from "../shared/claim-rules.ts";
import { statements } from "./statements.generated.ts";

/** Bytes, integers and null alone: no text is ever quoted, so no `sql_mode` and no character set can change a value. */
export type Value = Buffer | number | null;
export type Values = Readonly<Record<string, Value>>;

export interface Statement {
  readonly sql: string;
  bind(values: Values): Value[];
}

/**
 * `UTC_TIMESTAMP` is the moment a statement began, and a statement may then wait for a lock. A lease further ahead than
 * the longest one therefore means that the clock went back only if it is further ahead than such a wait, too: otherwise
 * a claim that waited would take a record from under its living owner.
 */
export const lockWaitUs = 240_000_000;
export const leaseAheadUs = leaseMaxUs + lockWaitUs;

/** How much a tick may begin before the last one without meaning that the clock went back. */
export const tickPatienceUs = 1_000_000;

const clockUs = "timestampdiff(microsecond, timestamp'1970-01-01 00:00:00', utc_timestamp(6))";

/** A rule written once for both clocks: the statement's own, and the same moment as the row of a claim carries it. */
const rules: Readonly<Record<string, string>> = {
  now: clockUs,
  live: `(lease_us between {now} + 1 and {now} + ${leaseAheadUs})`,
  doubtful: "(response_status is not null or hold_reason is not null)",
  own: "`key` = :key and scope_hash = :scopeHash and state = 'processing' and owner = :owner and fence = :fence",
  patience: String(tickPatienceUs),
};

const takeable: Readonly<Record<Takeover, string>> = {
  none: "state = 'failed'",
  lapsed: "(state = 'failed' or (state = 'processing' and not {live} and not {doubtful}))",
  any: "(state = 'failed' or (state = 'processing' and not {live}))",
};

const claimRules: Readonly<Record<string, string>> = {
  ...rules,
  moment: clockUs,
  now: "values(created_us)",
  same:
    "(fingerprint_raw = values(fingerprint_raw) or fingerprint_canonical = values(fingerprint_canonical)" +
    " or fingerprint_canonical <=> values(fingerprint_former) or fingerprint_former <=> values(fingerprint_canonical))",
  mine: "(state = 'processing' and owner = values(owner) and {same} and ({live} or not {doubtful}))",
  take: "({takeable} and {unexpired} and {same} and not {mine})",
};

/** `ignored` once the ticks were found uneven: the record is then judged as if it had not expired. */
const unexpired = { heeded: "coalesce(sweep_us > {now}, true)", ignored: "true" } as const;

export interface ClaimVariant {
  readonly takeover: Takeover;
  readonly expiry: keyof typeof unexpired;
}

const nestingMax = 8;

function expand(text: string, macros: Readonly<Record<string, string>>): string {
  let sql = text.replace(/^\s*--.*$/gm, "");
  for (let depth = 0; depth < nestingMax && sql.includes("{"); depth += 1) {
    sql = sql.replace(/\{(\w+)\}/g, (whole, name: string) => macros[name] ?? whole);
  }
  return sql.replace(/\s+/g, " ").trim();
}

function prepare(text: string): Statement {
  const names: string[] = [];
  const sql = text.replace(/:([a-z]\w*)/gi, (_, name: string) => {
    names.push(name);
    return "?";
  });
  return {
    sql,
    bind: (values) =>
      names.map((name) => {
        const value = values[name];
        if (value === undefined) throw new TypeError(`no value for parameter ${name}`);
        return value;
      }),
  };
}

/** One row of `renew` and `held`; the first names the columns. */
const claimRow = "select ? as p, ? as k, ? as s, ? as o, ? as f, ? as l";
const identityRow = "(r.`key` = ? and r.scope_hash = ?)";

export type StatementName = keyof typeof statements;
export type Dialect = ReturnType<typeof createDialect>;

export function createDialect(prefix: string) {
  const tables: Record<string, string> = { prefix };
  for (const table of ["records", "steps", "audit", "clock"]) tables[table] = `${prefix}${table}`;
  const cache = new Map<StatementName, Statement>();
  const claims = new Map<string, Statement>();

  const text = (name: StatementName): string => expand(statements[name], { ...rules, ...tables });
  const manyRows = (name: StatementName, row: string, separator: string) => {
    const [head = "", tail = ""] = text(name).split("{rows}");
    return (count: number): string => head + Array.from({ length: count }, () => row).join(separator) + tail;
  };

  return {
    prefix,
    statement(name: Exclude<StatementName, "claim" | "renew" | "held" | "sweep" | "sweepSteps">): Statement {
      let statement = cache.get(name);
      if (statement === undefined) cache.set(name, (statement = prepare(text(name))));
      return statement;
    },
    claim(variant: ClaimVariant): Statement {
      const id = `${variant.takeover} ${variant.expiry}`;
      let statement = claims.get(id);
      if (statement === undefined) {
        const sql = expand(statements.claim, {
          ...claimRules,
          records: `${prefix}records`,
          takeable: takeable[variant.takeover],
          unexpired: unexpired[variant.expiry],
        });
        claims.set(id, (statement = prepare(sql)));
      }
      return statement;
    },
    renew: manyRows("renew", claimRow, " union all "),
    held: manyRows("held", claimRow, " union all "),
    sweep: manyRows("sweep", identityRow, " or "),
    sweepSteps: manyRows("sweepSteps", identityRow, " or "),
    /** A migration as single statements: `multipleStatements` is off in most pools, as it should be. */
    split(migration: string): readonly string[] {
      return expand(migration.replace(/;[ \t]*$/gm, "\u0000"), { prefix })
        .split("\u0000")
        .map((part) => part.trim())
        .filter((part) => part !== "");
    },
    tables,
  };
}
