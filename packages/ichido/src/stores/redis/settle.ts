/** A person's decision on a record in doubt, and who decided what. */
import type { AuditEntry } from "../../core/contract/history.ts";
import type { SettleRequest, SettleResult } from "../../core/contract/store.ts";
import { nobody } from "../../core/record-machine/bounds.ts";
import { bufferOf, listOf, textOf } from "../../drivers/redis/reply.ts";
import { settleResultOf } from "../encoding.ts";
import { auditMax } from "./history.ts";
import { auditOf, encodeAudit, encodeHead } from "./row.ts";
import type { Scripts } from "./scripts.ts";

export async function settle(
  scripts: Scripts,
  name: string,
  { fence, decision, actor, reason, unlessHeld }: SettleRequest,
  more: { readonly margin: string; readonly channel: string },
): Promise<SettleResult> {
  const answer =
    decision.kind === "adopt" ? [encodeHead(decision.response), bufferOf(decision.response.body)] : ["", ""];
  const reply = await scripts.run("settle", name, [
    String(fence),
    decision.kind,
    ...answer,
    reason,
    encodeAudit({ actor, action: decision.kind, reason, fence }),
    nobody,
    more.margin,
    more.channel,
    String(auditMax),
    unlessHeld === true ? "1" : "",
  ]);
  return settleResultOf(textOf(reply));
}

export async function audit(scripts: Scripts, name: string): Promise<readonly AuditEntry[]> {
  return listOf(await scripts.run("audit", name, [String(auditMax)])).map(auditOf);
}
