/** The inbox's statements over a transaction handle. */
import type { TransactionHandle, TransactionResult } from "../core/contract/transaction.ts";
import type { Dialect } from "../sql/dialect.ts";
import { bind, createTexts } from "../sql/statement.ts";
import { statements as mysql } from "./mysql/statements.generated.ts";
import { statements as postgres } from "./postgres/statements.generated.ts";
import { statements as sqlite } from "./sqlite/statements.generated.ts";
import { statements as portable } from "./statements.generated.ts";

export type Verb = keyof typeof portable | keyof typeof postgres;
export type Values = Readonly<Record<string, string | number | Uint8Array>>;

/** Runs one statement of the inbox on a transaction. */
export type Statements = (handle: TransactionHandle, verb: Verb, values?: Values) => Promise<TransactionResult>;

const own: Readonly<Record<Dialect, Readonly<Partial<Record<Verb, string>>>>> = { mysql, postgres, sqlite };
const frequent: ReadonlySet<Verb> = new Set<Verb>(["insert", "insertInLine", "find", "countLine"]);

/** Text is compared with binary columns as the bytes it has in UTF-8, whatever the session's character set. */
function asBytes(values: Values): Values {
  const entries = Object.entries(values);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === "string" ? Buffer.from(value) : value]),
  );
}

export function createStatements(dialect: Dialect, prefix: string, waitMs: number): Statements {
  // MariaDB alone reads such a comment. MySQL has no way to bound one statement's wait for a lock.
  const wait = `/*M!100112 SET STATEMENT innodb_lock_wait_timeout=${Math.max(1, Math.ceil(waitMs / 1_000))} FOR */`;
  const textOf = createTexts<Verb>(dialect, prefix, { ...portable, ...own[dialect] }, { wait });
  return (handle, verb, values = {}) => {
    const { sql, bound } = bind(dialect, textOf(verb), dialect === "mysql" ? asBytes(values) : values);
    return handle.execute(sql, bound, { frequent: frequent.has(verb) });
  };
}
