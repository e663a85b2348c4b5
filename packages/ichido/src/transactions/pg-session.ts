/**
 * What is known of one connection of `pg`: whether it takes batches, and whether statements may stay prepared on it. A
 * pooler in transaction mode gives each transaction another session, where a statement prepared before is unknown. Whoever
 * opens a connection is told the process that serves it; a pooler makes that number up. So when the process that answers
 * is the one that was named, nobody stands between.
 */
import { createHash } from "node:crypto";
import type { TransactionResult } from "../core/transaction.ts";
import type { Statement } from "./pooled.ts";
import {
  BatchError,
  sendBatch,
  type Answer,
  type BatchClient,
  type BatchStatement,
  type Prepared,
} from "./pg-batch.ts";

interface Queries {
  query(text: string): Promise<{ readonly rows: readonly unknown[] }>;
}

interface JsClient extends BatchClient {
  readonly processID: number;
}

export interface PgSession {
  /** Nobody stands between: statements stay prepared. */
  readonly direct: boolean;
  run(statement: Statement): Promise<TransactionResult>;
  /** The same outside of a transaction, where it can be said once more. */
  ask(statement: Statement): Promise<TransactionResult>;
  begin(): Promise<unknown>;
  /** With BEGIN before it. */
  open(statement: Statement): Promise<TransactionResult>;
  /** With COMMIT after them; gives the server's word for the end. Rejects with a `BatchError`. */
  close(statements: readonly Statement[]): Promise<string>;
}

/** The clients of `pg` itself. Those of `pg-native` have no such connection; those that pipeline refuse batches. */
function takesBatches(client: object): client is JsClient {
  const { connection, pipeline, processID, getTypeParser } = client as Readonly<Record<string, unknown>>;
  return (
    typeof Reflect.get(Object(connection), "parsedStatements") === "object" &&
    typeof getTypeParser === "function" &&
    typeof processID === "number" &&
    pipeline !== true
  );
}

const names = new Map<string, string>();

function nameOf(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    // The first words for people who look at pg_prepared_statements, the digest to tell apart.
    const words = (/^[\w ]{1,24}/.exec(text)?.[0] ?? "").trim().replaceAll(" ", "_");
    name = `ichido_${words}_${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;
    names.set(text, name);
  }
  return name;
}

/** No such prepared statement; one of that name exists; its rows have another shape since a migration. */
const forgotten: ReadonlySet<unknown> = new Set(["26000", "42P05", "0A000"]);

function isForgotten(error: unknown): boolean {
  return error instanceof BatchError && forgotten.has(Reflect.get(Object(error.cause), "code"));
}

function createSession(client: JsClient & Queries, isDirect: boolean): PgSession {
  let direct = isDirect;
  const prepared: Prepared = new Map();

  const named = ({ sql, values, frequent }: Statement): BatchStatement => ({
    text: sql,
    values,
    name: direct && frequent === true ? nameOf(sql) : undefined,
  });
  const plain = (sql: string): BatchStatement => named({ sql, values: [], frequent: true });

  /** Somebody has thrown away what was prepared (DISCARD ALL): from now on without. */
  function forget(): void {
    direct = false;
    prepared.clear();
  }

  /** What a failed batch means, besides its error. */
  function noted(error: unknown): unknown {
    if (isForgotten(error)) forget();
    return error;
  }

  const send = (statements: readonly BatchStatement[]): Promise<readonly Answer[]> =>
    sendBatch(client, prepared, statements);

  /** The answer to the statement at that place, and the server's own error. */
  function once(statements: readonly BatchStatement[], place: number): Promise<Answer> {
    return send(statements).then(
      (answers) => answerAt(answers, place),
      (error: unknown) => {
        throw noted(error) instanceof BatchError ? (error as BatchError).cause : error;
      },
    );
  }

  /** For what nothing came before: it can begin anew. */
  function twice(make: () => readonly BatchStatement[], place: number): Promise<Answer> {
    return send(make()).then(
      (answers) => answerAt(answers, place),
      async (error: unknown) => {
        if (!(noted(error) instanceof BatchError)) throw error;
        if (!isForgotten(error)) throw (error as BatchError).cause;
        await client.query("ROLLBACK");
        return once(make(), place);
      },
    );
  }

  const answerAt = (answers: readonly Answer[], place: number): Answer => {
    const answer = answers[place];
    if (answer === undefined) throw new TypeError("the server answered fewer statements than it was sent");
    return answer;
  };

  return {
    get direct() {
      return direct;
    },
    run: (statement) => once([named(statement)], 0),
    ask: (statement) => twice(() => [named(statement)], 0),
    begin: () => twice(() => [plain("BEGIN")], 0),
    open: (statement) => twice(() => [plain("BEGIN"), named(statement)], 1),
    close: (statements) =>
      send([...statements.map(named), plain("COMMIT")]).then(
        (answers) => answerAt(answers, statements.length).tag,
        (error: unknown) => {
          throw noted(error);
        },
      ),
  };
}

type Sessions = WeakMap<object, Promise<PgSession> | PgSession>;
const learnt: Sessions = new WeakMap();
const unprepared: Sessions = new WeakMap();

async function learn(client: JsClient & Queries): Promise<PgSession> {
  const { rows } = await client.query("select pg_backend_pid() as pid");
  const session = createSession(client, Reflect.get(Object(rows[0]), "pid") === client.processID);
  learnt.set(client, session);
  return session;
}

/** Undefined: this client takes no batches. At once where the connection is known. */
export function sessionOf(
  client: object,
  prepare: "auto" | false = "auto",
): Promise<PgSession> | PgSession | undefined {
  const known = (prepare === false ? unprepared : learnt).get(client);
  if (known !== undefined) return known;
  if (!takesBatches(client)) return undefined;
  const queries = client as JsClient & Queries;
  if (prepare === false) {
    const session = createSession(queries, false);
    unprepared.set(client, session);
    return session;
  }
  const learning = learn(queries);
  learnt.set(client, learning);
  learning.catch(() => learnt.delete(client));
  return learning;
}
