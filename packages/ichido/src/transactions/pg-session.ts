/**
 * What is known of one connection of `pg`: whether it takes batches, and whether statements may stay prepared on it. A
 * pooler in transaction mode gives each transaction another session, where a statement prepared before is unknown. When
 * a connection opens, the server names the process that serves it; a pooler makes that number up. So when the process
 * that answers is the one that was named, no pooler stands between.
 */
import { createHash } from "node:crypto";
import type { TransactionResult } from "../core/contract/transaction.ts";
import { idleTimeout } from "./idle-timeout.ts";
import type { Statement } from "./pooled.ts";
import {
  BatchError,
  forgetPrepared,
  namedRows,
  saysForgotten,
  sendBatch,
  takesBatches,
  type Answer,
  type BatchClient,
  type BatchStatement,
} from "../drivers/pg/batch.ts";

interface Queries {
  query(text: string): Promise<{ readonly rows: readonly unknown[] }>;
}

export interface PgSession {
  /** No pooler stands between: statements stay prepared. */
  readonly direct: boolean;
  run(statement: Statement): Promise<TransactionResult>;
  /** The same outside of a transaction, where it can be sent once more. */
  ask(statement: Statement): Promise<TransactionResult>;
  begin(idleMs: number | undefined): Promise<unknown>;
  /** With BEGIN before it. */
  open(statement: Statement, idleMs: number | undefined): Promise<TransactionResult>;
  /** With COMMIT after them; gives the server's word for the end. Rejects with a `BatchError`. */
  close(statements: readonly Statement[]): Promise<string>;
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

function isForgotten(error: unknown): boolean {
  return error instanceof BatchError && saysForgotten(error.cause);
}

function resultOf(answer: Answer): TransactionResult {
  return { rows: namedRows(answer), affected: answer.affected };
}

function createSession(client: BatchClient & Queries, isDirect: boolean): PgSession {
  let direct = isDirect;

  const statementOf = ({ sql, values, frequent }: Statement): BatchStatement => ({
    text: sql,
    values,
    name: direct && frequent === true ? nameOf(sql) : undefined,
  });
  const controlStatement = (sql: string): BatchStatement => statementOf({ sql, values: [], frequent: true });
  const beginning = (idleMs: number | undefined): BatchStatement[] =>
    idleMs === undefined
      ? [controlStatement("BEGIN")]
      : [controlStatement("BEGIN"), statementOf({ sql: idleTimeout, values: [String(idleMs)], frequent: true })];

  /** The session has lost what was prepared (DISCARD ALL): from now on nothing is prepared. */
  function forget(): void {
    direct = false;
    forgetPrepared(client);
  }

  /** What a failed batch means, besides its error. */
  function afterFailure(error: unknown): unknown {
    if (isForgotten(error)) forget();
    return error;
  }

  const send = (statements: readonly BatchStatement[]): Promise<readonly Answer[]> => sendBatch(client, statements);

  /** The answer to the last statement, and the server's own error. */
  function sendAll(statements: readonly BatchStatement[]): Promise<Answer> {
    return send(statements).then(
      (answers) => lastOf(answers, statements.length),
      (error: unknown) => {
        throw afterFailure(error) instanceof BatchError ? (error as BatchError).cause : error;
      },
    );
  }

  /** For what nothing came before: it can begin anew. */
  function sendOrRestart(make: () => readonly BatchStatement[]): Promise<Answer> {
    const statements = make();
    return send(statements).then(
      (answers) => lastOf(answers, statements.length),
      async (error: unknown) => {
        if (!(afterFailure(error) instanceof BatchError)) throw error;
        if (!isForgotten(error)) throw (error as BatchError).cause;
        await client.query("ROLLBACK");
        return sendAll(make());
      },
    );
  }

  const lastOf = (answers: readonly Answer[], count: number): Answer => {
    const answer = answers[count - 1];
    if (answer === undefined) throw new TypeError("the server answered fewer statements than it was sent");
    return answer;
  };

  return {
    get direct() {
      return direct;
    },
    run: (statement) => sendAll([statementOf(statement)]).then(resultOf),
    ask: (statement) => sendOrRestart(() => [statementOf(statement)]).then(resultOf),
    begin: (idleMs) => sendOrRestart(() => beginning(idleMs)),
    open: (statement, idleMs) => sendOrRestart(() => [...beginning(idleMs), statementOf(statement)]).then(resultOf),
    close: (statements) =>
      send([...statements.map(statementOf), controlStatement("COMMIT")]).then(
        (answers) => lastOf(answers, statements.length + 1).tag,
        (error: unknown) => {
          throw afterFailure(error);
        },
      ),
  };
}

type Sessions = WeakMap<object, Promise<PgSession> | PgSession>;
const learnt: Sessions = new WeakMap();
const unprepared: Sessions = new WeakMap();

async function learn(client: BatchClient & Queries): Promise<PgSession> {
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
  const queries = client as BatchClient & Queries;
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
