/** The verbs of an owner: each is one statement that finds the record by identity, owner and fence, or finds nothing. */
import { IchidoError } from "../../core/contract/errors.ts";
import type {
  Claim,
  CompleteRequest,
  Fenced,
  FinishStepRequest,
  RenewRequest,
  StepRequest,
  SuspendRequest,
} from "../../core/contract/store.ts";
import type { TransactionHandle } from "../../core/contract/transaction.ts";
import { leavesDoubt } from "../../core/record-machine/owned.ts";
import { usOf } from "../../core/record-machine/record.ts";
import type { Dialect, Value } from "./dialect.ts";
import { claimOf } from "./rows.ts";
import type { Run } from "./session.ts";
import { bufferOf } from "../../sql/statement.ts";
import type { ClaimValues } from "./values.ts";
import { claimValues, longText, responseValues, stepName } from "./values.ts";

/** Claims in one statement of `renew`: what the optimizer still looks up one by one without a second thought. */
const renewMax = 200;

/** One statement for all claims with the same duration, which are nearly always all of them. */
export async function renew(run: Run, dialect: Dialect, requests: readonly RenewRequest[]): Promise<readonly Fenced[]> {
  const held = new Set<string>();
  for (const [leaseMs, group] of Map.groupBy(requests, (request) => request.leaseMs)) {
    for (let start = 0; start < group.length; start += renewMax) {
      await renewSome(run, dialect, group.slice(start, start + renewMax), leaseMs, held);
    }
  }
  return requests.map((request) => (held.has(idOf(claimValues(request))) ? "ok" : "stale"));
}

async function renewSome(
  run: Run,
  dialect: Dialect,
  claims: readonly Claim[],
  leaseMs: number,
  held: Set<string>,
): Promise<void> {
  const values = claims.map(claimValues);
  const rows = values.flatMap(({ key, scopeHash, owner, fence }): Value[] => [key, scopeHash, owner, fence]);
  const { affected } = await run(dialect.renew(claims.length), [usOf(leaseMs), ...rows]);
  // Whether it counts matched or changed rows, there can be as many as were asked for only if each was renewed.
  if (affected === claims.length) for (const each of values) held.add(idOf(each));
  else for (const row of (await run(dialect.held(claims.length), rows)).rows) held.add(idOf(claimOf(row)));
}

function idOf(claim: ClaimValues): string {
  return `${claim.key.toString("hex")} ${claim.scopeHash.toString("hex")} ${claim.owner.toString("hex")} ${claim.fence}`;
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
      "usage-invalid",
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
  const values = claimValues(claim);
  if ((await run(statement.sql, statement.bind(values))).insertId > 0) return "ok";
  const before = dialect.statement("released");
  return (await run(before.sql, before.bind(values))).rows.length > 0 ? "ok" : "stale";
}

export async function suspend(run: Run, dialect: Dialect, request: SuspendRequest): Promise<Fenced> {
  const statement = dialect.statement("suspend");
  const interim = request.interim !== undefined;
  const values = {
    ...claimValues(request),
    ...responseValues(request.interim),
    interim: interim ? 1 : 0,
    doubt: leavesDoubt(request) ? 1 : 0,
    holdReason: longText("holdReason", request.holdReason),
  };
  return fenced(await run(statement.sql, statement.bind(values)));
}

export async function startStep(run: Run, dialect: Dialect, request: StepRequest): Promise<Fenced> {
  const values = { ...claimValues(request), name: stepName(request.name), leaseUs: usOf(request.leaseMs) };
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
    leaseUs: usOf(request.leaseMs),
    result: bufferOf(request.result),
  };
  if (fenced(await run(statement.sql, statement.bind(values))) === "ok") return "ok";
  // Never started, or somebody else's: a start tells, and counts as made now.
  if ((await startStep(run, dialect, request)) === "stale") return "stale";
  return fenced(await run(statement.sql, statement.bind(values)));
}

function fenced({ insertId }: { readonly insertId: number }): Fenced {
  return insertId > 0 ? "ok" : "stale";
}
