/** The verbs of an owner: each is one statement that finds the record by identity, owner and fence, or finds nothing. */
import { IchidoError } from "../../core/errors.ts";
import type {
  Claim,
  CompleteRequest,
  Fenced,
  FinishStepRequest,
  RenewRequest,
  StepRequest,
  SuspendRequest,
} from "../../core/store.ts";
import type { TransactionHandle } from "../../core/transaction.ts";
import { integerOf } from "./client.ts";
import type { Dialect, Value } from "./dialect.ts";
import type { Run } from "./session.ts";
import { binaryValue, claimValues, longText, microseconds, responseValues, stepName } from "./values.ts";

/** Claims in one statement of `renew`. */
const renewMax = 500;

export async function renew(run: Run, dialect: Dialect, requests: readonly RenewRequest[]): Promise<readonly Fenced[]> {
  const answers: Fenced[] = [];
  for (let start = 0; start < requests.length; start += renewMax) {
    answers.push(...(await renewSome(run, dialect, requests.slice(start, start + renewMax))));
  }
  return answers;
}

async function renewSome(run: Run, dialect: Dialect, requests: readonly RenewRequest[]): Promise<readonly Fenced[]> {
  const values = requests.flatMap((request, place): Value[] => {
    const { key, scopeHash, owner } = claimValues(request);
    return [place, key, scopeHash, owner, request.fence, microseconds(request.leaseMs)];
  });
  const { affected } = await run(dialect.renew(requests.length), values);
  // Whether it counts matched or changed rows, there can be as many as were asked for only if each was renewed.
  if (affected === requests.length) return requests.map(() => "ok");
  const { rows } = await run(dialect.held(requests.length), values);
  const held = new Set(rows.map((row) => integerOf(row["place"])));
  return requests.map((_, place) => (held.has(place) ? "ok" : "stale"));
}

/** On the user's transaction nothing is repeated and no error is translated: the transaction is theirs. */
export async function complete(
  run: Run,
  dialect: Dialect,
  request: CompleteRequest,
  transaction: TransactionHandle | undefined,
): Promise<Fenced> {
  if (transaction !== undefined && transaction.dialect !== "mysql") {
    throw new IchidoError(
      "option-invalid",
      `complete: expected a transaction of dialect mysql, got ${transaction.dialect}; use the store of that database`,
    );
  }
  const execute: (
    sql: string,
    values: Value[],
  ) => Promise<{ readonly rows: readonly unknown[]; readonly affected: number }> =
    transaction === undefined ? run : (sql, values) => transaction.execute(sql, values);
  const values = { ...claimValues(request), ...responseValues(request.response) };
  const statement = dialect.statement("complete");
  if ((await execute(statement.sql, statement.bind(values))).affected > 0) return "ok";
  const before = dialect.statement("completed");
  return (await execute(before.sql, before.bind(values))).rows.length > 0 ? "ok" : "stale";
}

export async function release(run: Run, dialect: Dialect, claim: Claim): Promise<Fenced> {
  const statement = dialect.statement("release");
  return (await run(statement.sql, statement.bind(claimValues(claim)))).affected > 0 ? "ok" : "stale";
}

export async function suspend(run: Run, dialect: Dialect, request: SuspendRequest): Promise<Fenced> {
  const statement = dialect.statement("suspend");
  const interim = request.interim !== undefined;
  const values = {
    ...claimValues(request),
    ...responseValues(request.interim),
    interim: interim ? 1 : 0,
    doubt: interim || request.holdReason !== undefined ? 1 : 0,
    holdReason: longText("holdReason", request.holdReason),
  };
  return fenced(await run(statement.sql, statement.bind(values)));
}

export async function startStep(run: Run, dialect: Dialect, request: StepRequest): Promise<Fenced> {
  const values = { ...claimValues(request), name: stepName(request.name), leaseUs: microseconds(request.leaseMs) };
  const propose = dialect.statement("proposeStep");
  await run(propose.sql, propose.bind(values));
  const start = dialect.statement("startStep");
  return fenced(await run(start.sql, start.bind(values)));
}

export async function finishStep(run: Run, dialect: Dialect, request: FinishStepRequest): Promise<Fenced> {
  const statement = dialect.statement("finishStep");
  const values = {
    ...claimValues(request),
    name: stepName(request.name),
    leaseUs: microseconds(request.leaseMs),
    result: binaryValue(request.result),
  };
  return fenced(await run(statement.sql, statement.bind(values)));
}

function fenced({ insertId }: { readonly insertId: number }): Fenced {
  return insertId > 0 ? "ok" : "stale";
}
