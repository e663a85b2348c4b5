/** Looking at one identity: its record, its steps, and what people decided on it. */
import type { Identity } from "../../core/contract/record.ts";
import type { AuditEntry } from "../../core/contract/history.ts";
import type { Landed, LandedRequest, Step, StoredRecord } from "../../core/contract/store.ts";
import { landedOf, landedWaitMs } from "../../core/record-machine/owned.ts";
import { toMs } from "../../core/record-machine/record.ts";
import { identityValues, integer, recordOf, stepOf, text } from "./row.ts";
import type { Session } from "./session.ts";

export function find(session: Session, identity: Identity): Promise<StoredRecord | undefined> {
  return session.queue.read(() => {
    const row = session.connection.get(session.statements.find, ...identityValues(identity));
    return row === undefined ? undefined : recordOf(row, session.nowUs());
  });
}

/** While this process has the file's write lock, no transaction that writes is under way. */
export function landed(session: Session, request: LandedRequest): Promise<Landed> {
  const { connection, queue, nowUs, statements } = session;
  return queue.tryWrite((): Landed => {
    const row = connection.get(statements.find, ...identityValues(request.identity));
    return landedOf(row === undefined ? undefined : recordOf(row, nowUs()), request);
  }, landedWaitMs);
}

export function steps(session: Session, identity: Identity): Promise<readonly Step[]> {
  return session.queue.read(() => {
    const nowUs = session.nowUs();
    return session.connection
      .all(session.statements.steps, ...identityValues(identity))
      .map((row) => stepOf(row, nowUs));
  });
}

export function audit(session: Session, identity: Identity): Promise<readonly AuditEntry[]> {
  return session.queue.read(() =>
    session.connection.all(session.statements.audit, ...identityValues(identity)).map((row) => ({
      atMs: toMs(integer(row, "at_us")),
      actor: text(row, "actor"),
      action: text(row, "action"),
      reason: text(row, "reason"),
      fence: integer(row, "fence"),
    })),
  );
}
