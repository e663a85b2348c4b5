/** What stays as it is for the whole life of a record, and what a call must leave as it was asked to. */
import type { AuditEntry } from "../packages/ichido/src/core/contract/history.ts";
import type {
  ClaimRequest,
  ClaimResult,
  Landed,
  LandedRequest,
  SettleRequest,
  StoredRecord,
} from "../packages/ichido/src/core/contract/store.ts";
import type { Change } from "./judgement.ts";
import { idOf, type World } from "./world.ts";

const spareMs = 2;

const isNear = (one: number, other: number): boolean => Math.abs(one - other) <= spareMs;

function whatMoved(before: StoredRecord, after: StoredRecord): string | undefined {
  if (after.expiresAtMs !== before.expiresAtMs) return "its retention";
  if (after.labels["ask"] !== before.labels["ask"]) return "its labels";
  if (Buffer.compare(after.fingerprint.canonical, before.fingerprint.canonical) !== 0) return "its content";
  return undefined;
}

export function judgeLasting(world: World, change: Change): void {
  const { seen, verb, before, after } = change;
  if (after === undefined) return;
  const isGranted = verb === "claim" && (before === undefined || before.fence !== after.fence);
  const isNew = isGranted && after.attempts === 1;
  const { leaseMs, retentionMs } = change.request as Partial<ClaimRequest>;
  if (isNew) {
    if (!isNear(after.expiresAtMs, world.storeNowMs() + (retentionMs ?? 0))) {
      world.violate("retention-other", `${seen.id}: kept for ${after.expiresAtMs - world.storeNowMs()} ms`);
    }
  } else if (before !== undefined) {
    const moved = whatMoved(before, after);
    if (moved !== undefined) world.violate("life-changed", `${seen.id}: ${moved} by ${verb}`);
    const attempts = before.attempts + (isGranted ? 1 : 0);
    if (after.attempts !== attempts) world.violate("life-changed", `${seen.id}: its attempts by ${verb}`);
  }
  // A step may leave the lease to the heartbeat while there is enough of it; what was ended stays ended.
  const least = verb.endsWith("Step") ? (leaseMs ?? 0) / 2 : (leaseMs ?? 0);
  const leftMs = after.leaseLeftMs ?? 0;
  const isLeased = isGranted || ((verb === "renew" || verb.endsWith("Step")) && isOk(change.result) && leftMs !== 0);
  if (isLeased && (leftMs < least - spareMs || leftMs > (leaseMs ?? 0) + spareMs)) {
    world.violate("lease-other", `${seen.id}: ${leftMs} ms by ${verb}, ${leaseMs} were asked for`);
  }
}

/** An answer or a release ends every doubt; who waits is told for how long. */
export function judgeTold(world: World, { seen, verb, after, result }: Change): void {
  if (after === undefined) return;
  const isEnded = after.state === "completed" || after.state === "failed";
  if (isEnded && (after.holdReason !== undefined || after.interim !== undefined)) {
    world.violate("sealed-anew", `${seen.id}: ${after.state} by ${verb}, and a doubt is left in it`);
  }
  if (verb !== "claim") return;
  const claimed = result as ClaimResult;
  if (claimed.outcome === "processing" && !isNear(claimed.leaseLeftMs, after.leaseLeftMs ?? 0)) {
    world.violate("lease-other", `${seen.id}: told ${claimed.leaseLeftMs} ms, it is ${after.leaseLeftMs} ms`);
  }
}

function isOk(result: unknown): boolean {
  return (Array.isArray(result) ? (result as readonly unknown[])[0] : result) === "ok";
}

export function judgeAudit(world: World, request: SettleRequest, audit: readonly AuditEntry[]): void {
  const last = audit.at(-1);
  const { actor, reason, fence, decision } = request;
  const isTold = last?.actor === actor && last.reason === reason && last.fence === fence;
  if (!isTold || last.action !== decision.kind) {
    world.violate("settle-unaudited", `${idOf(request.identity)}: ${decision.kind} by ${actor}`);
  }
}

/** What is told about a commit is true, once nobody is writing the record. */
export function judgeLanded(
  world: World,
  { identity, fence }: LandedRequest,
  landed: Landed,
  committed: ReadonlySet<string>,
): void {
  const hasLanded = committed.has(`${idOf(identity)} ${fence}`);
  if (hasLanded !== (landed === "committed") && world.seenOf(identity).record?.fence === fence) {
    world.violate("landed-untrue", `${idOf(identity)}: told ${landed}, committed ${String(hasLanded)}`);
  }
}
