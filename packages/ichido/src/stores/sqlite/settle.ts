/** A person's decision on a record in doubt, with its audit row. */
import type { SettleRequest, SettleResult } from "../../core/contract/store.ts";
import { decided, dropsUnfinished, settleRefusal } from "../../core/record-machine/settle.ts";
import { heldOf, identityValues, orNull, responseValues } from "./row.ts";
import type { Session } from "./session.ts";

export function settle(session: Session, request: SettleRequest): Promise<SettleResult> {
  const { decision } = request;
  return session.queue.write(() => settleLocked(session, request), {
    bytes: decision.kind === "adopt" ? decision.response.body.length : 0,
  });
}

function settleLocked(session: Session, request: SettleRequest): SettleResult {
  const { connection, statements } = session;
  const { decision } = request;
  const where = identityValues(request.identity);
  const row = connection.get(statements.look, ...where);
  const record = row === undefined ? undefined : heldOf(row);
  const nowUs = session.nowUs();
  const refusal = settleRefusal(record, request, nowUs);
  if (record === undefined || refusal !== undefined) return refusal ?? "absent";
  const { owner, fence, updatedUs, holdReason } = decided(record, request, { nowUs, fenceFloor: 0 });
  if (decision.kind === "adopt") {
    connection.run(statements.settleAdopt, ...responseValues(decision.response), owner, fence, updatedUs, ...where);
  } else if (decision.kind === "release") {
    if (dropsUnfinished(request)) connection.run(statements.forgetUnfinishedSteps, ...where);
    connection.run(statements.settleRelease, owner, fence, updatedUs, ...where);
  } else {
    connection.run(statements.settleHold, orNull(holdReason), updatedUs, ...where);
  }
  connection.run(statements.addAudit, ...where, nowUs, request.actor, decision.kind, request.reason, request.fence);
  return "ok";
}
