/** One statement by its name, sent again where that is safe. */
import type { Connection, Row } from "./connection.ts";
import { toIchidoError } from "./failures.ts";
import type { Repeatable, Retries } from "./retries.ts";
import type { StatementName, Statements } from "./statements.ts";

export type Run = (
  verb: StatementName,
  repeatable: Repeatable,
  values: readonly unknown[],
  way?: Pick<Connection, "run">,
) => Promise<readonly Row[]>;

export function createRun(connection: Connection, statements: Statements, withRetries: Retries): Run {
  return async (verb, repeatable, values, way = connection) => {
    try {
      return await withRetries(repeatable, (leftMs) => way.run(statements[verb], values, leftMs));
    } catch (error) {
      throw toIchidoError(error, verb);
    }
  };
}
