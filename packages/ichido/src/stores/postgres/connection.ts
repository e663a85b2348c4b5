/** One statement on the user's client, within a deadline: the one shape behind which the drivers look alike. */
export type Row = readonly unknown[];

export interface Statement {
  /** Names the prepared statement where those are wanted; another text has another name. */
  readonly name: string;
  readonly text: string;
  /** Sent by every request: worth a prepared statement wherever it is known that one stays. */
  readonly frequent?: boolean;
  /** Its last column is `pg_backend_pid()`. */
  readonly tellsBackend?: boolean;
}

/** `auto`: frequent statements, on a connection that is known to lead straight to its server. */
export type Prepare = boolean | "auto";

export interface Connection {
  /** Parameterised, and named only as `Prepare` says: nothing stays on a pooler's session. Rows are positional. */
  readonly run: (statement: Statement, values: readonly unknown[], timeoutMs: number) => Promise<readonly Row[]>;
  /**
   * As `run`, for what may take long: after its time the statement ends on the server as well, also where this process is
   * gone by then. Costs two further ways there and back. Absent where others share the connection.
   */
  readonly look?: Connection["run"];
  /** Whether a pooler stands before the server (see `prepared.ts`). Absent where the driver does not say. */
  isPooled?(timeoutMs: number): Promise<boolean>;
}

export function isRows(value: unknown): value is readonly Row[] {
  return Array.isArray(value) && value.every((row) => Array.isArray(row));
}
