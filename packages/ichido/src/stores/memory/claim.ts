/** A claim on the row that is there, or on none: the machine decides, bytes are copied on their way out. */
import type { ClaimRequest, ClaimResult } from "../../core/contract/store.ts";
import { born, grantOf, held, isRefusal, judgeClaim, noted, refusalOf } from "../../core/record-machine/claim.ts";
import type { Moment } from "../../core/record-machine/record.ts";
import { AskedPrints, bytesOf, copyOut, rowOf, type Row } from "./row.ts";

export interface Claimed {
  readonly row: Row | undefined;
  readonly result: ClaimResult;
}

export function claim(before: Row | undefined, request: ClaimRequest, moment: Moment): Claimed {
  const asked = new AskedPrints(request.fingerprint);
  const verdict = judgeClaim(before, request, asked, moment);
  if (before === undefined || verdict === "new") {
    const prints = asked.toRow();
    const birth = born(request, prints, before?.fence ?? 0, moment);
    const row = rowOf(birth, request.identity, prints, request.labels);
    return { row, result: grantOf(row, request.fingerprint.canonical, "new") };
  }
  if (isRefusal(verdict)) {
    return { row: noted(before, request, verdict), result: copied(refusalOf(before, verdict, moment.nowUs)) };
  }
  const row = held(before, request, verdict, moment);
  return { row, result: grantOf(row, bytesOf(row.fingerprint.canonical), verdict) };
}

function copied(result: ClaimResult): ClaimResult {
  if (result.outcome === "completed") return { ...result, response: copyOut(result.response) };
  if (result.outcome !== "unknown" || result.interim === undefined) return result;
  return { ...result, interim: copyOut(result.interim) };
}
