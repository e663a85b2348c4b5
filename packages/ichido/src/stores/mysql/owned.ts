/** The verbs of an owner: each is one statement that finds the record by identity, owner and fence, or finds nothing. */
import type {
  Claim,
  CompleteRequest,
  Fenced,
  FinishStepRequest,
  Renewed,
  RenewRequest,
  StepRequest,
  SuspendRequest,
} from "../../core/contract/store.ts";
import type { TransactionHandle } from "../../core/contract/transaction.ts";
import { leavesDoubt } from "../../core/record-machine/owned.ts";
import { usOf } from "../../core/record-machine/record.ts";
import { requireDialect } from "../joined-transaction.ts";
import type { Dialect, Value } from "./dialect.ts";
import { tell } from "./history.ts";
import { isLocked } from "./failures.ts";
import { claimOf } from "./row.ts";
import type { Run } from "./session.ts";
import { bufferOf } from "../../sql/statement.ts";
import { claimValues, longText, responseValues, stepName, type ClaimValues } from "./values.ts";

/** Claims in one statement of `renew`: so few that the optimizer always looks them up one by one. */
const renewMax = 200;

/** One statement for all claims with the same duration, which are nearly always all of them. */
export async function renew(
  run: Run,
  dialect: Dialect,
  requests: readonly RenewRequest[],
): Promise<readonly Renewed[]> {
  const told = new Map<string, Renewed>();
  for (const [leaseMs, group] of Map.groupBy(requests, (request) => request.leaseMs)) {
    for (let start = 0; start < group.length; start += renewMax) {
      await renewSome(run, dialect, group.slice(start, start + renewMax), leaseMs, told);
    }
  }
  return requests.map((request) => told.get(idOf(claimValues(request))) ?? "stale");
}

async function renewSome(
  run: Run,
  dialect: Dialect,
  claims: readonly Claim[],
  leaseMs: number,
  told: Map<string, Renewed>,
): Promise<void> {
  const values = claims.map(claimValues);
  const rows = values.flatMap(({ key, scopeHash, owner, fence }): Value[] => [key, scopeHash, owner, fence]);
  let affected = 0;
  let owned: Renewed = "ok";
  try {
    ({ affected } = await run(dialect.renew(claims.length), [usOf(leaseMs), ...rows]));
  } catch (error) {
    if (!isLocked(error)) throw error;
    const half = Math.ceil(claims.length / 2);
    if (half < claims.length) {
      await renewSome(run, dialect, claims.slice(0, half), leaseMs, told);
      return renewSome(run, dialect, claims.slice(half), leaseMs, told);
    }
    owned = "locked";
  }
  // Whether it counts matched or changed rows, there can be as many as were asked for only if each was renewed.
  if (affected === claims.length) for (const each of values) told.set(idOf(each), owned);
  else for (const row of (await run(dialect.held(claims.length), rows)).rows) told.set(idOf(claimOf(row)), owned);
}

function idOf(claim: ClaimValues): string {
  return `${claim.key.toString("hex")} ${claim.scopeHash.toString("hex")} ${claim.owner.toString("hex")} ${claim.fence}`;
}

/** As `complete-many.sql` has them. */
const answerColumns = ["kind", "status", "bytes", "headers", "body"] as const;

/** On the user's transaction nothing is repeated and no error is translated: the transaction is theirs. */
export async function complete(
  run: Run,
  dialect: Dialect,
  request: CompleteRequest,
  transaction: TransactionHandle | undefined,
): Promise<Fenced> {
  if (transaction !== undefined) requireDialect("mysql", transaction);
  const execute: (
    sql: string,
    values: Value[],
  ) => Promise<{ readonly rows: readonly unknown[]; readonly affected: number }> =
    transaction === undefined ? run : (sql, values) => transaction.execute(sql, values);
  const values = { ...claimValues(request), ...responseValues(request.response) };
  if (transaction === undefined) await tell(run, dialect, request);
  if ((await dialect.send(execute, "complete", values)).affected > 0) {
    if (transaction !== undefined) await tell(execute, dialect, request);
    return "ok";
  }
  return (await dialect.send(execute, "completed", values)).rows.length > 0 ? "ok" : "stale";
}

/** Undefined for those that must be completed alone: not all were stored, and this statement cannot tell which. */
export async function completeMany(
  run: Run,
  dialect: Dialect,
  requests: readonly CompleteRequest[],
): Promise<readonly (Fenced | undefined)[]> {
  const alone = requests.map(() => undefined);
  const claims = requests.map(claimValues);
  // The engine gives no owner to two attempts, but nothing here rests on that.
  if (new Set(requests.map(({ owner }) => owner)).size < requests.length) return alone;
  for (const request of requests) if (request.resources !== undefined) await tell(run, dialect, request);
  const owners = claims.map(({ owner }) => owner);
  const answers = requests.map(({ response }) => responseValues(response));
  const values = answerColumns.flatMap((name) => [...owners, ...answers.map((answer) => answer[name] as Value)]);
  for (const { key, scopeHash, owner, fence } of claims) values.push(key, scopeHash, owner, fence);
  const { affected } = await run(dialect.completeMany(requests.length), values);
  return affected === requests.length ? requests.map(() => "ok") : alone;
}

export async function release(run: Run, dialect: Dialect, claim: Claim): Promise<Fenced> {
  const values = claimValues(claim);
  if ((await dialect.send(run, "release", values)).insertId > 0) return "ok";
  return (await dialect.send(run, "released", values)).rows.length > 0 ? "ok" : "stale";
}

export async function suspend(run: Run, dialect: Dialect, request: SuspendRequest): Promise<Fenced> {
  const interim = request.interim !== undefined;
  const values = {
    ...claimValues(request),
    ...responseValues(request.interim),
    interim: interim ? 1 : 0,
    doubt: leavesDoubt(request) ? 1 : 0,
    holdReason: longText("holdReason", request.holdReason),
  };
  await tell(run, dialect, request);
  return fenced(await dialect.send(run, "suspend", values));
}

export async function startStep(run: Run, dialect: Dialect, request: StepRequest): Promise<Fenced> {
  const values = { ...claimValues(request), name: stepName(request.name), leaseUs: usOf(request.leaseMs) };
  await tell(run, dialect, request);
  await dialect.send(run, "proposeStep", values);
  return fenced(await dialect.send(run, "startStep", values));
}

export async function finishStep(run: Run, dialect: Dialect, request: FinishStepRequest): Promise<Fenced> {
  const values = {
    ...claimValues(request),
    name: stepName(request.name),
    leaseUs: usOf(request.leaseMs),
    result: bufferOf(request.result),
  };
  await tell(run, dialect, request);
  if (fenced(await dialect.send(run, "finishStep", values)) === "ok") return "ok";
  // The step was never started, or another owner has the record. A start finds out which, and counts as made now.
  if ((await startStep(run, dialect, request)) === "stale") return "stale";
  return fenced(await dialect.send(run, "finishStep", values));
}

function fenced({ insertId }: { readonly insertId: number }): Fenced {
  return insertId > 0 ? "ok" : "stale";
}
