/** A claim on the row that is there, or on none: the machine decides, bytes are copied on their way out. */
import type { ClaimRequest, ClaimResult } from "../../core/contract/store.ts";
import { born, grantOf, held, isRefusal, judgeClaim, noted, refusalOf } from "../../core/record-machine/claim.ts";
import type { Moment } from "../../core/record-machine/record.ts";
import { bytesOf, copyOut, fingerprintRowOf, rowOf, type Row } from "./row.ts";

export interface Claimed {
  readonly row: Row | undefined;
  readonly result: ClaimResult;
}

export function claim(before: Row | undefined, request: ClaimRequest, moment: Moment): Claimed {
  const asked = fingerprintRowOf(request.fingerprint);
  const verdict = judgeClaim(before, request, asked, moment);
  let row: Row;
  if (before === undefined || verdict === "new") {
    const birth = born(request, asked, before?.fence ?? 0, moment);
    row = rowOf(birth, request.identity, asked, request.labels);
  } else if (isRefusal(verdict)) {
    return { row: noted(before, request, verdict), result: copied(refusalOf(before, verdict, moment.nowUs)) };
  } else {
    row = held(before, request, verdict, moment);
  }
  // Without a row there is nothing to refuse; the verdict is `new`.
  const granted = isRefusal(verdict) ? "new" : verdict;
  return { row, result: grantOf(row, bytesOf(row.fingerprint.canonical), granted) };
}

function copied(result: ClaimResult): ClaimResult {
  if (result.outcome === "completed") return { ...result, response: copyOut(result.response) };
  if (result.outcome !== "unknown" || result.interim === undefined) return result;
  return { ...result, interim: copyOut(result.interim) };
}
