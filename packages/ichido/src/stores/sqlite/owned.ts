/** What the owner of a record may do with it: each verb one conditional statement, for this owner and fence alone. */
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
import { mayLeaveLease, stateAfter } from "../../core/record-machine/owned.ts";
import { leaseEndUs } from "../../core/record-machine/record.ts";
import { requireDialect } from "../joined-transaction.ts";
import type { SqliteValue } from "./database.ts";
import { toldValues } from "./history.ts";
import { identityValues, integer, responseValues } from "./row.ts";
import type { Session } from "./session.ts";

type Owned = [key: string, scopeHash: Uint8Array, owner: string, fence: number];

function owned(claim: Claim): Owned {
  return [...identityValues(claim.identity), claim.owner, claim.fence];
}

/** A call sent again after its answer was lost finds its own work done. */
function unlessDone(session: Session, claim: Claim, verb: keyof typeof stateAfter): Fenced {
  return session.connection.get(session.statements.held, ...owned(claim))?.["state"] === stateAfter[verb]
    ? "ok"
    : "stale";
}

export function renew(session: Session, requests: readonly RenewRequest[]): Promise<readonly Fenced[]> {
  if (requests.length === 0) return Promise.resolve([]);
  return session.queue.write(() => {
    const nowUs = session.nowUs();
    return requests.map((request) => renewOne(session, request, nowUs));
  });
}

function renewOne(session: Session, request: RenewRequest, nowUs: number): Fenced {
  const leaseUs = leaseEndUs(request.leaseMs, nowUs);
  return session.connection.run(session.statements.renew, leaseUs, ...owned(request)) === 1 ? "ok" : "stale";
}

export function complete(session: Session, request: CompleteRequest): Promise<Fenced> {
  return session.queue.write(
    () => {
      const changes = session.connection.run(session.statements.complete, ...completeValues(request, session.nowUs()));
      return telling(session, request, changes === 1 ? "ok" : unlessDone(session, request, "complete"));
    },
    { bytes: request.response.body.length },
  );
}

/** On the user's own transaction: nothing is grouped, and nothing is promised before they commit. */
export async function completeWithin(
  session: Session,
  request: CompleteRequest,
  transaction: TransactionHandle,
): Promise<Fenced> {
  requireDialect("sqlite", transaction);
  const values = completeValues(request, session.nowUs());
  if ((await transaction.execute(session.statements.complete, values, often)).affected === 1) {
    for (const told of toldValues(request.identity, request.resources)) {
      await transaction.execute(session.statements.addResource, told);
    }
    return "ok";
  }
  const { rows } = await transaction.execute(session.statements.held, owned(request));
  return rows[0]?.["state"] === stateAfter.complete ? "ok" : "stale";
}

export const often = { frequent: true };

function completeValues(request: CompleteRequest, nowUs: number): SqliteValue[] {
  return [...responseValues(request.response), nowUs, ...owned(request)];
}

export function release(session: Session, claim: Claim): Promise<Fenced> {
  return session.queue.write(() => {
    const changes = session.connection.run(session.statements.release, session.nowUs(), ...owned(claim));
    return changes === 1 ? "ok" : unlessDone(session, claim, "release");
  });
}

export function suspend(session: Session, request: SuspendRequest): Promise<Fenced> {
  const { interim, holdReason } = request;
  return session.queue.write(
    () => {
      const nowUs = session.nowUs();
      const changes = session.connection.run(
        session.statements.suspend,
        ...(interim === undefined ? [null, null, null, null] : responseValues(interim)),
        holdReason ?? null,
        nowUs,
        ...owned(request),
      );
      return telling(session, request, changes === 1 ? "ok" : "stale");
    },
    { bytes: interim?.body.length },
  );
}

export function startStep(session: Session, request: StepRequest): Promise<Fenced> {
  return session.queue.write(
    () => {
      const held = holdForStep(session, request);
      if (held === undefined) return "stale";
      insertStep(session, request, held);
      return telling(session, request, "ok");
    },
    { mayBeLost: request.mayBeLost },
  );
}

export function finishStep(session: Session, request: FinishStepRequest): Promise<Fenced> {
  return session.queue.write(
    () => {
      const held = holdForStep(session, request);
      if (held === undefined) return "stale";
      const values = [request.result, held.nowUs, ...identityValues(request.identity), request.name] as const;
      const isStarted = session.connection.run(session.statements.finishStep, ...values) === 1;
      // Never started, or finished before, which a start leaves alone.
      if (!isStarted && insertStep(session, request, held)) {
        session.connection.run(session.statements.finishStep, ...values);
      }
      return telling(session, request, "ok");
    },
    { bytes: request.result.length },
  );
}

/** What the operation made is noted where the verb took effect. */
function telling(
  { connection, statements }: Session,
  { identity, resources }: Pick<CompleteRequest, "identity" | "resources">,
  result: Fenced,
): Fenced {
  if (result === "stale" || resources === undefined) return result;
  for (const values of toldValues(identity, resources)) connection.run(statements.addResource, ...values);
  return result;
}

interface Held {
  readonly attempt: number;
  readonly nowUs: number;
}

/** The attempt of the owner, or undefined for anyone else. The record is written unless its lease may be left as it is. */
function holdForStep({ connection, statements, testUs }: Session, request: StepRequest): Held | undefined {
  const row = connection.get(statements.lookForStep, ...owned(request));
  if (row === undefined) return undefined;
  const nowUs = testUs?.() ?? integer(row, "now_ms") * 1000;
  const record = { stepsStarted: integer(row, "steps_started"), leaseUs: integer(row, "lease_us") };
  if (!mayLeaveLease(record, request.leaseMs, nowUs)) {
    connection.run(statements.holdForStep, leaseEndUs(request.leaseMs, nowUs), nowUs, ...owned(request));
  }
  return { attempt: integer(row, "attempts"), nowUs };
}

function insertStep({ connection, statements }: Session, request: StepRequest, { attempt, nowUs }: Held): boolean {
  const where = identityValues(request.identity);
  return connection.run(statements.startStep, ...where, request.name, ...where, attempt, nowUs, nowUs) === 1;
}
