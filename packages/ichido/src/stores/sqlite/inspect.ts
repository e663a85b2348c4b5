/** Looking at one identity: its record, its steps, and what people decided on it. */
import type { Identity } from "../../core/record.ts";
import type { AuditEntry, Step, StoredRecord } from "../../core/store.ts";
import { identityValues, integer, recordOf, stepOf, text, toMs } from "./row.ts";
import type { Session } from "./session.ts";
import { statements } from "./statements.generated.ts";

export function find(session: Session, identity: Identity): Promise<StoredRecord | undefined> {
  return session.turns.read(() => {
    const row = session.connection.get(statements.find, ...identityValues(identity));
    return row === undefined ? undefined : recordOf(row, session.nowUs());
  });
}

export function steps(session: Session, identity: Identity): Promise<readonly Step[]> {
  return session.turns.read(() => {
    const nowUs = session.nowUs();
    return session.connection.all(statements.steps, ...identityValues(identity)).map((row) => stepOf(row, nowUs));
  });
}

export function audit(session: Session, identity: Identity): Promise<readonly AuditEntry[]> {
  return session.turns.read(() =>
    session.connection.all(statements.audit, ...identityValues(identity)).map((row) => ({
      atMs: toMs(integer(row, "at_us")),
      actor: text(row, "actor"),
      action: text(row, "action"),
      reason: text(row, "reason"),
      fence: integer(row, "fence"),
    })),
  );
}
