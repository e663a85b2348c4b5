/** A person's decision on a record in doubt, with its audit row. */
import type { SettleRequest, SettleResult } from "../../core/store.ts";
import { isLive, nextFence } from "../shared/claim-rules.ts";
import { identityValues, integer, responseValues, stateOf } from "./row.ts";
import type { Session } from "./session.ts";
import { statements } from "./statements.generated.ts";

/** No attempt makes this value, so no owner that comes back can show it. */
const nobody = "0".repeat(32);

export function settle(session: Session, request: SettleRequest): Promise<SettleResult> {
  const { decision } = request;
  return session.turns.write(() => settleLocked(session, request), {
    bytes: decision.kind === "adopt" ? decision.response.body.length : 0,
  });
}

function settleLocked(session: Session, request: SettleRequest): SettleResult {
  const { connection } = session;
  const { decision } = request;
  const where = identityValues(request.identity);
  const row = connection.get(statements.look, ...where);
  if (row === undefined) return "absent";
  if (stateOf(row) === "completed") return "completed";
  if (integer(row, "fence") !== request.fence) return "stale";
  if (request.unlessHeld === true && row["hold_reason"] !== null) return "stale";
  const nowUs = session.nowUs();
  if (isLive({ state: stateOf(row), leaseUs: integer(row, "lease_us") }, nowUs)) return "live";
  const fence = nextFence(request.fence, nowUs);
  if (decision.kind === "adopt") {
    connection.run(statements.settleAdopt, ...responseValues(decision.response), nobody, fence, nowUs, ...where);
  } else if (decision.kind === "release") {
    connection.run(statements.forgetUnfinishedSteps, ...where);
    connection.run(statements.settleRelease, nobody, fence, nowUs, ...where);
  } else {
    connection.run(statements.settleHold, request.reason, nowUs, ...where);
  }
  connection.run(statements.addAudit, ...where, nowUs, request.actor, decision.kind, request.reason, request.fence);
  return "ok";
}
