/** Erases what a record holds and leaves a tombstone, with its audit row. */
import type { ForgetRequest, ForgetResult } from "../../core/contract/history.ts";
import { forgetAction, forgetRefusal, forgotten } from "../../core/record-machine/forget.ts";
import { hasWord } from "../../core/record-machine/reasons.ts";
import { heldOf, identityValues, responseValues, text } from "./row.ts";
import type { Session } from "./session.ts";

export function forget(session: Session, request: ForgetRequest): Promise<ForgetResult> {
  return session.queue.write(() => forgetLocked(session, request));
}

/** In one transaction: what is found is what is emptied. */
export function emptyReasons({ connection, statements, queue }: Session, values: readonly string[]): Promise<number> {
  return queue.write(() => {
    let emptied = 0;
    for (const value of values) {
      const found = value === "" ? [] : connection.all(statements.findReasons, value).map((row) => text(row, "reason"));
      for (const reason of found.filter((each) => hasWord(each, value)))
        emptied += connection.run(statements.emptyReasons, reason);
    }
    return emptied;
  });
}

function forgetLocked(session: Session, request: ForgetRequest): ForgetResult {
  const { connection, statements } = session;
  const where = identityValues(request.identity);
  const row = connection.get(statements.look, ...where);
  const record = row === undefined ? undefined : heldOf(row);
  const nowUs = session.nowUs();
  const refusal = forgetRefusal(record, request, nowUs);
  if (record === undefined || refusal !== undefined) return refusal ?? "absent";
  const whole = { ...record, steps: [], audit: [], resources: [] };
  const { owner, fence, updatedUs, response } = forgotten(whole, request, { nowUs, fenceFloor: 0 });
  if (response === undefined) throw new TypeError("a forgotten record has no answer");
  // First what is found by the record's own columns.
  connection.run(statements.forgetLabels, ...where);
  for (const each of ["forgetSteps", "forgetResources", "forgetAttempts", "forgetReasons"] as const) {
    connection.run(statements[each], ...where);
  }
  connection.run(statements.forgetTwins, ...where, ...where);
  connection.run(statements.forget, ...responseValues(response), owner, fence, updatedUs, ...where);
  connection.run(statements.addAudit, ...where, nowUs, request.actor, forgetAction, request.reason, request.fence);
  return "ok";
}
