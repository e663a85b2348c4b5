/** Asks `why --json` about every ticket and holds its verdicts against what was seeded and against the bank's ledger. */
import type { Bed } from "./bed.ts";
import { createAsk, type AskedVerdict } from "./command.ts";
import { ledgerOf, type Ticket } from "./seed.ts";

export interface Row {
  readonly kind: string;
  readonly tickets: number;
  readonly right: number;
  /** The verdicts that were given, and how often. */
  readonly verdicts: Readonly<Record<string, number>>;
  /** Tickets whose counted effects are those of the ledger. */
  readonly asLedger: number;
}

export interface Measured {
  readonly rows: readonly Row[];
  readonly recall: number;
  readonly precision: number;
  readonly wrong: readonly string[];
  readonly whyMs: { readonly p50: number; readonly p95: number };
}

const isHarmless = (kind: string): boolean => kind === "ordinary" || kind === "honest repeat";

function isAlarm({ severity }: Pick<AskedVerdict, "severity">): boolean {
  return severity !== "ok";
}

export async function measure(bed: Bed, tickets: readonly Ticket[]): Promise<Measured> {
  const ledger = await ledgerOf(bed);
  const ask = createAsk(bed);
  const tookMs: number[] = [];
  const asked: { readonly ticket: Ticket; readonly verdict: AskedVerdict; readonly isAsLedger: boolean }[] = [];
  for (const ticket of tickets) {
    const startedMs = performance.now();
    const verdict = await ask(ticket);
    tookMs.push(performance.now() - startedMs);
    const charged = ledger.filter(({ amount }) => amount === ticket.amount).length;
    const counted = verdict.keys.reduce((sum, { effects }) => sum + effects.count, 0);
    asked.push({ ticket, verdict, isAsLedger: verdict.verdict === "not-known" || counted === charged });
  }
  const refundOf = ({ intents = [] }: AskedVerdict): string => intents.flatMap(({ refund }) => refund).join();
  const isRight = ({ ticket, verdict }: (typeof asked)[number]): boolean =>
    verdict.verdict === ticket.expected &&
    refundOf(verdict) === (ticket.refund ?? []).join() &&
    (verdict.code === 0) === !isAlarm(verdict);
  const incidents = asked.filter(({ ticket }) => !isHarmless(ticket.kind));
  // What a person is sent to look at: alarms, and whatever else is said of an incident.
  const told = asked.filter((each) => isAlarm(each.verdict) || !isHarmless(each.ticket.kind));
  const kinds = [...new Set(asked.map(({ ticket }) => ticket.kind))];
  tookMs.sort((one, other) => one - other);
  const at = (part: number): number => tookMs[Math.min(tookMs.length - 1, Math.floor(tookMs.length * part))] ?? 0;
  return {
    rows: kinds.map((kind) => {
      const those = asked.filter(({ ticket }) => ticket.kind === kind);
      const given: Record<string, number> = {};
      for (const { verdict } of those) given[verdict.verdict] = (given[verdict.verdict] ?? 0) + 1;
      return {
        kind,
        tickets: those.length,
        right: those.filter(isRight).length,
        verdicts: given,
        asLedger: those.filter(({ isAsLedger }) => isAsLedger).length,
      };
    }),
    recall: incidents.filter(isRight).length / Math.max(1, incidents.length),
    precision: told.filter(isRight).length / Math.max(1, told.length),
    wrong: asked
      .filter((each) => !isRight(each) || !each.isAsLedger)
      .map(
        ({ ticket, verdict }) =>
          `${ticket.kind}: expected ${ticket.expected}, got ${verdict.verdict} (${verdict.says}), refund ${refundOf(verdict)}, code ${verdict.code}`,
      ),
    whyMs: { p50: at(0.5), p95: at(0.95) },
  };
}

export function tableOf({ rows, recall, precision, whyMs }: Measured): string {
  const lines = rows.map(({ kind, tickets, right, verdicts: given, asLedger }) => {
    const words = Object.entries(given).map(([verdict, count]) => `${verdict} ${count}`);
    return `| ${kind} | ${tickets} | ${right} | ${asLedger} | ${words.join(", ")} |`;
  });
  return [
    "| tickets | asked | right | effects as in the ledger | verdicts |",
    "|---|---|---|---|---|",
    ...lines,
    `recall ${recall.toFixed(3)}, precision ${precision.toFixed(3)}; why took ${whyMs.p50.toFixed(1)} ms (median), ${whyMs.p95.toFixed(1)} ms (95th percentile)`,
  ].join("\n");
}
