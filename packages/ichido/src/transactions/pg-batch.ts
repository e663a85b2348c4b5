/**
 * Several statements of the extended protocol in one message, behind one Sync: the server runs them in order, stops at the
 * first that fails and skips the rest. `pg` takes any object that can submit itself (its cursors and streams are such), and
 * tells it what the server answers.
 *
 * A statement with a name stays prepared on its connection, and its columns are asked for once.
 */
import type { TransactionResult } from "../core/transaction.ts";

export interface BatchStatement {
  readonly text: string;
  readonly values: readonly unknown[];
  /** Unset: forgotten after use. */
  readonly name?: string | undefined;
}

/** What `pg` hands over to `submit`, as far as it is used here. */
interface Wire {
  readonly stream: { cork?(): void; uncork?(): void };
  close(message: { type: "S"; name: string }): void;
  parse(message: { name: string; text: string }): void;
  bind(message: {
    portal: string;
    statement: string;
    values: readonly unknown[];
    binary: boolean;
    valueMapper(value: unknown): unknown;
  }): void;
  describe(message: { type: "P"; name: string }): void;
  execute(message: { portal: string; rows: number }): void;
  sync(): void;
  sendCopyFail(reason: string): void;
}

interface Field {
  readonly name: string;
  readonly dataTypeID: number;
}

type Columns = readonly { readonly name: string; readonly parse: (text: string) => unknown }[];

export interface BatchClient {
  query(batch: Batch): unknown;
  getTypeParser(type: number, format: "text"): (text: string) => unknown;
}

/** What is prepared on a connection, with its columns. */
export type Prepared = Map<string, Columns>;

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

/** No word of the server, or its last one. */
export function isFatal(error: unknown): boolean {
  const severity: unknown = Reflect.get(Object(error), "severity");
  return severity === undefined || severity === "FATAL" || severity === "PANIC";
}

const asIs = (value: unknown): unknown => value;

/** Before anything is sent: a message that cannot be finished would leave its connection waiting for ever. */
function sent(value: unknown): string | Buffer | null {
  if (value === undefined || value === null) return null;
  if (typeof value === "string" || Buffer.isBuffer(value)) return value;
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") return String(value);
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  throw new TypeError(`a batch takes texts, numbers, booleans, bytes and null, not a value of type ${typeof value}`);
}

function affectedBy(tag: string): number {
  return Number(/(\d+)$/.exec(tag)?.[1] ?? 0);
}

class Batch {
  readonly #statements: readonly BatchStatement[];
  readonly #prepared: Prepared;
  readonly #client: BatchClient;
  readonly #settle: PromiseWithResolvers<readonly Answer[]>;
  readonly #answers: Answer[] = [];
  #columns: Columns | undefined;
  #rows: Record<string, unknown>[] = [];
  /** A type parser of the user's threw. */
  #unread: { readonly error: unknown } | undefined;
  /** `pg` puts one here when it bounds the time of queries, and calls it instead of us. */
  callback: (error?: unknown) => void = () => {};

  constructor(
    client: BatchClient,
    prepared: Prepared,
    statements: readonly BatchStatement[],
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

  submit(wire: Wire): undefined {
    wire.stream.cork?.();
    try {
      for (const statement of this.#statements) this.#send(wire, statement);
      wire.sync();
    } finally {
      wire.stream.uncork?.();
    }
    return undefined;
  }

  #send(wire: Wire, { text, values, name = "" }: BatchStatement): void {
    const isKnown = this.#prepared.has(name);
    // It may be there although its first use failed. Closing what is not there is no error.
    if (!isKnown && name !== "") wire.close({ type: "S", name });
    if (!isKnown) wire.parse({ name, text });
    wire.bind({ portal: "", statement: name, values, binary: false, valueMapper: asIs });
    if (!isKnown) wire.describe({ type: "P", name: "" });
    wire.execute({ portal: "", rows: 0 });
  }

  get #current(): BatchStatement | undefined {
    return this.#statements[this.#answers.length];
  }

  handleRowDescription({ fields }: { readonly fields: readonly Field[] }): void {
    this.#columns = fields.map(({ name, dataTypeID }) => ({
      name,
      parse: this.#client.getTypeParser(dataTypeID, "text"),
    }));
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const columns = this.#columns ?? this.#prepared.get(this.#current?.name ?? "") ?? [];
    if (this.#unread !== undefined) return;
    const row: Record<string, unknown> = {};
    try {
      for (const [place, { name, parse }] of columns.entries()) {
        const value = fields[place];
        row[name] = value === null || value === undefined ? null : parse(value);
      }
    } catch (error) {
      this.#unread = { error };
      return;
    }
    this.#rows.push(row);
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    const name = this.#current?.name;
    if (name !== undefined && !this.#prepared.has(name)) this.#prepared.set(name, this.#columns ?? []);
    this.#answers.push({ rows: this.#rows, affected: affectedBy(text), tag: text });
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

  /** Told once the server is ready again: only then does the client know in what state the transaction is. */
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

export interface Answer extends TransactionResult {
  /** The server's own word for what it did, such as `COMMIT`. */
  readonly tag: string;
}

export async function sendBatch(
  client: BatchClient,
  prepared: Prepared,
  statements: readonly BatchStatement[],
): Promise<readonly Answer[]> {
  const settle = Promise.withResolvers<readonly Answer[]>();
  const ready = statements.map(({ text, values, name }) => ({ text, values: values.map(sent), name }));
  client.query(new Batch(client, prepared, ready, settle));
  return settle.promise;
}
