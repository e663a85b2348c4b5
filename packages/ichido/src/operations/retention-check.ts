/** Memory of what was consumed, against what may still come; and sweepers against what they should have removed. */
import type { EngineNoteText } from "../core/contract/engine-note.ts";
import { findingOf, type Finding } from "../core/contract/finding.ts";
import type { Store } from "../core/contract/store.ts";
import type { DoctorParts } from "./doctor-parts.ts";

/** Sweeps are hourly by default and take their time: twice that. */
const sweepLagMsMin = 7_200_000;

function span(ms: number): string {
  const hours = ms / 3_600_000;
  return hours >= 48
    ? `${(hours / 24).toFixed(1)} days`
    : hours >= 1
      ? `${hours.toFixed(1)} hours`
      : `${Math.round(ms / 1_000)} s`;
}

function redeliveries({ inbox, subscriptions = [] }: DoctorParts): Finding[] {
  if (inbox === undefined) return [];
  return subscriptions.flatMap(({ name, redeliveryMsMax }) => {
    if (redeliveryMsMax < inbox.retentionMs) return [];
    const what = `the inbox remembers ${span(inbox.retentionMs)}, the subscription ${name} may deliver again after ${span(redeliveryMsMax)}`;
    const remedy = `createInbox({ retentionMs: ${redeliveryMsMax * 2} }), or let the broker keep events for less`;
    return [findingOf("retention-below-redelivery", what, remedy)];
  });
}

async function inboxFindings({ inbox }: DoctorParts): Promise<Finding[]> {
  if (inbox === undefined) return [];
  const { oldestDeadMs = 0, oldestRowMs = 0 } = await inbox.stats();
  const found: Finding[] = [];
  if (oldestDeadMs > inbox.retentionMs) {
    const what = `the oldest dead letter is ${span(oldestDeadMs)} old, the inbox remembers ${span(inbox.retentionMs)}: whether it was processed meanwhile is forgotten`;
    const remedy =
      "replay or discard dead letters sooner (npx ichido inbox list), or raise retentionMs above their age";
    found.push(findingOf("retention-below-dead-letters", what, remedy));
  }
  if (oldestRowMs > inbox.retentionMs + Math.max(sweepLagMsMin, inbox.retentionMs / 4)) {
    const what = `the inbox keeps rows of ${span(oldestRowMs)}, its retention is ${span(inbox.retentionMs)}`;
    found.push(findingOf("sweeper-behind", what, "call inbox.sweep() every few minutes, from any process"));
  }
  return found;
}

async function sweeper(store: Store, notes: readonly EngineNoteText[]): Promise<Finding[]> {
  const { sweepLagMs } = await store.stats();
  const everyMs = notes.map(({ options }) => options["sweepMs"]).filter((value) => typeof value === "number");
  const limitMs = everyMs.length === 0 ? sweepLagMsMin : Math.max(...everyMs) * 2;
  if (sweepLagMs <= limitMs) return [];
  const nobody = notes.length > 0 && everyMs.length === 0;
  const what = `records that expired ${span(sweepLagMs)} ago are still there${nobody ? ", and no engine sweeps" : ""}`;
  const remedy = "npx ichido sweep now; let one engine sweep (sweepMs), or call ichido.sweep() from cron";
  return [findingOf("sweeper-behind", what, remedy)];
}

export async function checkRetention(
  parts: DoctorParts,
  notes: readonly EngineNoteText[],
): Promise<readonly Finding[]> {
  return [...redeliveries(parts), ...(await inboxFindings(parts)), ...(await sweeper(parts.ichido.store, notes))];
}
