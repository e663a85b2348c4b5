/**
 * Which connections keep prepared statements. A pooler in transaction mode gives each transaction another session, and
 * a statement prepared on one is unknown to the next. When a connection opens, the server names the process that will
 * serve it; a pooler, which has no such process yet, makes a number up. So when the process that answers is the one
 * that was named, no pooler stands between. The store compares them again with every claim; the first difference ends
 * prepared statements on that connection.
 */
import type { PgQueryable } from "./client.ts";
import type { Prepare, Row, Statement } from "./connection.ts";
import { forgetPrepared, saysForgotten } from "../../drivers/pg/batch.ts";
import { StatementForgotten } from "./failures.ts";

export interface PreparedPolicy {
  shouldPrepare(queryable: PgQueryable, statement: Statement): boolean;
  observe(queryable: PgQueryable, statement: Statement, rows: readonly Row[]): void;
  /** What a caller gets for an error of a named statement. */
  explain(queryable: PgQueryable, error: unknown): unknown;
}

export function createPreparedPolicy(prepare: Prepare): PreparedPolicy {
  const direct = new WeakMap<PgQueryable, boolean>();
  return {
    shouldPrepare: (queryable, { frequent }) =>
      prepare === true || (prepare === "auto" && frequent === true && direct.get(queryable) === true),
    observe(queryable, { tellsBackend }, rows) {
      const [row] = rows;
      if (prepare !== "auto" || tellsBackend !== true || row === undefined || direct.get(queryable) === false) return;
      const { processID } = queryable;
      direct.set(queryable, typeof processID === "number" && processID > 0 && Number(row.at(-1)) === processID);
    },
    explain(queryable, error) {
      if (!saysForgotten(error)) return error;
      forgetPrepared(queryable);
      if (prepare !== "auto") return error;
      direct.set(queryable, false);
      return new StatementForgotten("a prepared statement is gone from its session", { cause: error });
    },
  };
}
