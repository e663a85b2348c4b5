/**
 * Several statements of the extended protocol in one message, behind one Sync: the server runs them in order, stops at
 * the first that fails and skips the rest. `pg` takes any object that can submit itself (its cursors and streams are
 * such), and passes on to it what the server answers.
 *
 * A statement with a name stays prepared on its connection, and its columns are asked for once.
 */
import { bytea, bytesOfText } from "./types.ts";
import { PgWriter } from "./wire.ts";

export interface BatchStatement {
  readonly text: string;
  readonly values: readonly unknown[];
  /** Unset: forgotten after use. */
  readonly name?: string | undefined;
}

/** What `pg` hands over to `submit`, as far as it is used here. */
interface Wire {
  readonly stream: { readonly writable?: boolean; write(bytes: Buffer): unknown };
  sync(): void;
  sendCopyFail(reason: string): void;
}

/** One statement as it is sent. */
interface Sent {
  readonly text: string;
  readonly values: readonly (string | Buffer | null)[];
  readonly name: string;
}

interface Field {
  readonly name: string;
  readonly dataTypeID: number;
}

type Columns = readonly { readonly name: string; readonly parse: (text: string) => unknown }[];

export interface BatchClient {
  query(batch: Batch): unknown;
  getTypeParser(type: number, format: "text"): (text: string) => unknown;
  readonly processID: number;
}

/** The clients of `pg` itself. Those of `pg-native` have no such connection; those that pipeline refuse batches. */
export function takesBatches(client: object): client is BatchClient {
  const { connection, pipeline, processID, getTypeParser } = client as Readonly<Record<string, unknown>>;
  return (
    typeof Reflect.get(Object(connection), "parsedStatements") === "object" &&
    typeof getTypeParser === "function" &&
    typeof processID === "number" &&
    pipeline !== true
  );
}

/** The statements of a connection, with their columns. */
type Prepared = Map<string, Columns>;

const prepared = new WeakMap<object, Prepared>();

function preparedOn(client: object): Prepared {
  let names = prepared.get(client);
  if (names === undefined) {
    names = new Map();
    prepared.set(client, names);
  }
  return names;
}

/** The session has lost what was prepared (DISCARD ALL). */
export function forgetPrepared(client: object): void {
  prepared.delete(client);
}

/** No such prepared statement; one of that name exists; its rows have another shape since a migration. */
const forgotten: ReadonlySet<unknown> = new Set(["26000", "42P05", "0A000"]);

/** Whether the server's error says that a statement is no longer prepared as it was. */
export function saysForgotten(error: unknown): boolean {
  return forgotten.has(Reflect.get(Object(error), "code"));
}

/** The first so many statements took effect in the transaction; the next one was refused. */
export class BatchError extends Error {
  override readonly name: string = "BatchError";
  readonly completed: number;
  constructor(completed: number, cause: unknown) {
    super("a statement of a batch failed", { cause });
    this.completed = completed;
  }
}

interface WireEvents {
  once(event: "readyForQuery" | "end", listener: () => void): unknown;
  removeListener(event: "readyForQuery" | "end", listener: () => void): unknown;
}

/** The error is not the server's, or is the last one before the server ends the session. */
export function isFatal(error: unknown): boolean {
  const severity: unknown = Reflect.get(Object(error), "severity");
  return severity === undefined || severity === "FATAL" || severity === "PANIC";
}

/** Before anything is sent: a message that cannot be finished would leave its connection waiting for ever. */
function sent(value: unknown): string | Buffer | null {
  if (value === undefined || value === null) return null;
  if (typeof value === "string" || Buffer.isBuffer(value)) return value;
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") return String(value);
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  throw new TypeError(`a batch takes texts, numbers, booleans, bytes and null, not a value of type ${typeof value}`);
}

/** `INSERT 0 1`, `SELECT 1`; nothing after `COMMIT`. */
function affectedBy(tag: string): number {
  const count = Number(tag.slice(tag.lastIndexOf(" ") + 1));
  return Number.isNaN(count) ? 0 : count;
}

const writer = new PgWriter();

class Batch {
  readonly #statements: readonly Sent[];
  readonly #prepared: Prepared;
  readonly #client: BatchClient;
  readonly #settle: PromiseWithResolvers<readonly Answer[]>;
  readonly #answers: Answer[] = [];
  #columns: Columns | undefined;
  #rows: unknown[][] = [];
  /** A type parser of the user's threw. */
  #unread: { readonly error: unknown } | undefined;
  /** `pg` puts one here when it bounds the time of queries, and calls it instead of us. */
  callback: (error?: unknown) => void = () => {};

  constructor(
    client: BatchClient,
    prepared: Prepared,
    statements: readonly Sent[],
    settle: PromiseWithResolvers<readonly Answer[]>,
  ) {
    this.#client = client;
    this.#prepared = prepared;
    this.#statements = statements;
    this.#settle = settle;
    this.callback = (error) => {
      if (error !== undefined && error !== null) settle.reject(new BatchError(this.#answers.length, error));
    };
  }

  /** An error that is given back means that nothing was sent. */
  submit({ stream }: Wire): Error | undefined {
    try {
      for (const statement of this.#statements) this.#write(statement);
      writer.sync();
    } catch (error) {
      writer.forget();
      return error as Error;
    }
    const message = writer.take();
    // A connection that is gone is about to report it.
    if (stream.writable !== false) stream.write(message);
    return undefined;
  }

  #write({ text, values, name }: Sent): void {
    const isKnown = this.#prepared.has(name);
    // It may be there although its first use failed. Closing what is not there is no error.
    if (!isKnown && name !== "") writer.closeStatement(name);
    if (!isKnown) writer.parse(name, text);
    writer.bind(name, values);
    if (!isKnown) writer.describePortal();
    writer.execute();
  }

  get #current(): Sent | undefined {
    return this.#statements[this.#answers.length];
  }

  handleRowDescription({ fields }: { readonly fields: readonly Field[] }): void {
    this.#columns = fields.map(({ name, dataTypeID }) => ({
      name,
      parse: dataTypeID === bytea ? bytesOfText : this.#client.getTypeParser(dataTypeID, "text"),
    }));
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    if (this.#unread !== undefined) return;
    const columns = this.#currentColumns;
    const row: unknown[] = [];
    try {
      for (let place = 0; place < columns.length; place += 1) {
        const value = fields[place];
        row.push(value === null || value === undefined ? null : columns[place]?.parse(value));
      }
    } catch (error) {
      this.#unread = { error };
      return;
    }
    this.#rows.push(row);
  }

  get #currentColumns(): Columns {
    return this.#columns ?? this.#prepared.get(this.#current?.name ?? "") ?? [];
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    const name = this.#current?.name ?? "";
    const columns = this.#currentColumns;
    if (name !== "" && !this.#prepared.has(name)) this.#prepared.set(name, columns);
    this.#answers.push({ rows: this.#rows, columns, affected: affectedBy(text), tag: text });
    this.#columns = undefined;
    this.#rows = [];
  }

  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
  /** In the middle of a copy the server passes over the Sync that was sent. */
  handleCopyInResponse(wire: Wire): void {
    wire.sendCopyFail("a batch has nothing to copy from");
    wire.sync();
  }
  handleCopyData(): void {}

  /**
   * Reports the error once the server is ready again: only then does the client know in what state the transaction is.
   */
  handleError(error: unknown, wire?: WireEvents): void {
    if (isFatal(error) || wire === undefined) return this.callback(error);
    const tell = (): void => {
      wire.removeListener("readyForQuery", tell);
      wire.removeListener("end", tell);
      this.callback(error);
    };
    wire.once("readyForQuery", tell);
    wire.once("end", tell);
  }

  handleReadyForQuery(): void {
    this.callback();
    if (this.#unread === undefined) this.#settle.resolve(this.#answers);
    else this.#settle.reject(new BatchError(this.#answers.length, this.#unread.error));
  }
}

export interface Answer {
  /** By position. */
  readonly rows: readonly (readonly unknown[])[];
  readonly columns: Columns;
  readonly affected: number;
  /** The server's own word for what it did, such as `COMMIT`. */
  readonly tag: string;
}

/** The rows by the names of their columns. */
export function namedRows({ rows, columns }: Answer): readonly Readonly<Record<string, unknown>>[] {
  return rows.map((row) => {
    const named: Record<string, unknown> = {};
    for (const [place, { name }] of columns.entries()) named[name] = row[place];
    return named;
  });
}

export function sendBatch(client: BatchClient, statements: readonly BatchStatement[]): Promise<readonly Answer[]> {
  const settle = Promise.withResolvers<readonly Answer[]>();
  try {
    const ready = statements.map(({ text, values, name = "" }) => ({ text, values: values.map(sent), name }));
    client.query(new Batch(client, preparedOn(client), ready, settle));
  } catch (error) {
    settle.reject(error);
  }
  return settle.promise;
}
