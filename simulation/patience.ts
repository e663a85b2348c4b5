/** How long a record in doubt is left to its callers, and how long until a person must hear of it. */
import type { ClaimRequest, SettleRequest } from "../packages/ichido/src/core/contract/store.ts";
import type { Change } from "./judgement.ts";
import type { Plan } from "./plan.ts";
import type { World } from "./world.ts";

const spareMs = 5;
/** Of its retention: a person must hear of it while its callers still expect an answer. */
const retentionPart = 0.75;

/** Of the first owner of a key alone: what a reconciler saw of an earlier doubt it counts from then. */
function judgeLook(world: World, { seen, before, from }: Change, { takeover }: ClaimRequest): void {
  const { reconciler, drift } = world.plan;
  if (takeover !== "open" || before?.state !== "unknown" || reconciler === undefined) return;
  if (before.attempts > 1 || seen.life > 1 || world.hasJumped || seen.disturbed.has(before.fence)) return;
  const { leaseLeftMs = 0, updatedAtMs } = before;
  const alone = leaseLeftMs < 0 ? -leaseLeftMs : world.storeNowMs() - updatedAtMs;
  if (alone + spareMs < reconciler.olderThanMs * (1 - Math.abs(drift))) {
    world.violate("looked-too-soon", `${seen.id}: ${from.name} asks about it after ${alone.toFixed(0)} ms`);
  }
}

/** A reconciler has one patience for all operations; less where a record is not kept that long. */
export function giveUpAfterMsOf({ reconciler, routes }: Plan): number {
  const retentions = routes.filter(({ onUnknown }) => onUnknown === "verify").map(({ retentionMs }) => retentionMs);
  return Math.min(reconciler?.giveUpAfterMs ?? 0, Math.ceil(Math.min(...retentions) / 2));
}

function judgeHold(world: World, { seen, before }: Change, { decision, unlessHeld }: SettleRequest): void {
  if (decision.kind !== "hold" || unlessHeld !== true || before === undefined) return;
  const { createdAtMs, expiresAtMs } = before;
  const patienceMs = Math.min(giveUpAfterMsOf(world.plan), (expiresAtMs - createdAtMs) * retentionPart);
  const ageMs = world.storeNowMs() - createdAtMs;
  if (!world.hasJumped && ageMs + spareMs < patienceMs) {
    world.violate("gave-up-too-soon", `${seen.id}: held after ${ageMs.toFixed(0)} ms`);
  }
}

export function judgePatience(world: World, change: Change): void {
  const { seen, verb, before, after, request, result } = change;
  if (verb === "claim") judgeLook(world, change, request as ClaimRequest);
  // A copy of its own claim, too, gives the key back to an owner whose lease was over.
  const isSaid = verb !== "claim" || after?.leaseLeftMs !== before?.leaseLeftMs;
  if (before !== undefined && isSaid && (before.leaseLeftMs ?? 0) <= 0) seen.disturbed.add(before.fence);
  if (verb === "settle" && result === "ok") judgeHold(world, change, request as SettleRequest);
}
