/** One statement on the user's client, within a deadline: the one shape behind which the drivers look alike. */
export type Row = readonly unknown[];

export interface Statement {
  /** Names the prepared statement where those are wanted; another text has another name. */
  readonly name: string;
  readonly text: string;
}

export interface Connection {
  /** Parameterised and, unless `prepare` was asked for, unnamed: nothing stays on the session. Rows are positional. */
  run(statement: Statement, values: readonly unknown[], timeoutMs: number): Promise<readonly Row[]>;
  /** Several statements in one message, hence in one transaction. */
  script(text: string, timeoutMs: number): Promise<void>;
}

export function isRows(value: unknown): value is readonly Row[] {
  return Array.isArray(value) && value.every((row) => Array.isArray(row));
}
