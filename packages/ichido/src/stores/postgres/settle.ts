/** A person's decision on a record in doubt, and who decided what. */
import type { AuditEntry } from "../../core/contract/history.ts";
import type { SettleRequest, SettleResult } from "../../core/contract/store.ts";
import type { Identity } from "../../core/contract/record.ts";
import { settleResultOf } from "../encoding.ts";
import { auditEntryOf, textOf } from "./row.ts";
import type { Run } from "./run.ts";
import { encodeText } from "./text.ts";
import { identityValues, responseValues } from "./values.ts";

export async function settle(run: Run, request: SettleRequest, channel: string): Promise<SettleResult> {
  const { identity, fence, decision, actor, reason, unlessHeld } = request;
  const rows = await run("settle", "conflicts", [
    ...identityValues(identity),
    String(fence),
    decision.kind,
    ...responseValues(decision.kind === "adopt" ? decision.response : undefined),
    encodeText(actor),
    encodeText(reason),
    channel,
    String(unlessHeld === true),
  ]);
  return settleResultOf(textOf(rows[0]?.[0]));
}

export async function audit(run: Run, identity: Identity): Promise<readonly AuditEntry[]> {
  return (await run("audit", "always", identityValues(identity))).map(auditEntryOf);
}
