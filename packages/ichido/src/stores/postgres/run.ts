/** One statement by its name, sent again where that is safe. */
import type { Connection, Row } from "./connection.ts";
import { serverMs, toIchidoError } from "./failures.ts";
import type { Repeatable, Retries } from "./retries.ts";
import type { StatementName, Statements } from "./statements.ts";

export type Run = (
  verb: StatementName,
  repeatable: Repeatable,
  values: readonly unknown[],
  way?: Pick<Connection, "run">,
) => Promise<readonly Row[]>;

/**
 * What waits for a row takes as its last value for how long, in ms. Whoever waited on after their caller has gone would
 * hold a connection of the server, and at last take effect after all.
 */
const waitsForRow: ReadonlySet<StatementName> = new Set<StatementName>([
  "settle",
  "release",
  "suspend",
  "startStep",
  "finishStep",
]);

export interface RunParts {
  readonly connection: Connection;
  readonly statements: Statements;
  readonly withRetries: Retries;
  readonly lockTimeoutMs: number;
}

export function createRun({ connection, statements, withRetries, lockTimeoutMs }: RunParts): Run {
  return async (verb, repeatable, values, way = connection) => {
    const statement = statements[verb];
    try {
      if (!waitsForRow.has(verb)) return await withRetries(repeatable, (leftMs) => way.run(statement, values, leftMs));
      const send = (leftMs: number): Promise<readonly Row[]> =>
        way.run(statement, [...values, String(Math.min(lockTimeoutMs, serverMs(leftMs)))], leftMs);
      return await withRetries(repeatable, send, { lockMs: lockTimeoutMs });
    } catch (error) {
      throw toIchidoError(error, verb);
    }
  };
}
