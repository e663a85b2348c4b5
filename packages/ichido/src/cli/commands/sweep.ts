/** `ichido sweep`: removes what has expired. */
import { limits } from "../../core/contract/defaults.ts";
import { defineCommand, jsonFlag } from "../command.ts";
import { actorOf, decisionFlags } from "../decision.ts";
import { exitCodes } from "../exit-codes.ts";
import { projectFlags, type Project } from "../project.ts";
import type { Printer } from "../printer.ts";
import { shownDuration } from "../times.ts";

interface Swept {
  readonly deleted: number;
  readonly more: boolean;
  readonly guarded?: boolean;
  readonly busy?: boolean;
  readonly waitsMs?: number;
}

interface Sweeper {
  readonly part: string;
  readonly once: () => Promise<Swept>;
}

/** With an address alone the events' retention is not known: records have their own. */
function sweepersOf({ ichido, store, outbox, inbox }: Project): readonly Sweeper[] {
  const bounds = { limit: limits.sweepBatch, budgetMs: limits.sweepBudgetMs };
  const records = { part: "records", once: () => store.sweep(bounds) };
  if (ichido === undefined) return [records];
  return [
    records,
    ...(outbox === undefined ? [] : [{ part: "outbox", once: () => outbox.sweep() }]),
    ...(inbox === undefined ? [] : [{ part: "inbox", once: () => inbox.sweep() }]),
  ];
}

async function sweepAll({ part, once }: Sweeper, print: Printer, signal: AbortSignal) {
  let deleted = 0;
  for (;;) {
    const { more, ...swept } = await once();
    deleted += swept.deleted;
    print.progress(deleted, undefined, `removed from ${part}`);
    if (!more || signal.aborted) return { ...swept, part, deleted };
  }
}

function shownResult({ guarded, busy, waitsMs }: Omit<Swept, "more" | "deleted">): string {
  if (guarded === true) return "nothing expires yet: the store's clock is watched after a jump or a long pause";
  if (busy === true) return "another sweeper is at work";
  return waitsMs === undefined
    ? ""
    : `waits ${shownDuration(waitsMs)} more: the clock jumped, or nobody swept for long`;
}

const { reason, actor, "dry-run": dryRun } = decisionFlags;

export const sweepCommand = defineCommand({
  name: "sweep",
  summary: "remove what has expired, in bounded batches",
  about: `
Removes records past their retention, and what outbox and inbox kept long enough. A running program does this by itself;
this is for cron, where the engine says sweepMs: "off". Records in doubt or on hold stay. What was removed is noted in the
audit.`,
  flags: { "dry-run": dryRun, reason, actor, ...jsonFlag, ...projectFlags },
  examples: [
    ["ichido sweep", "from cron"],
    ["ichido sweep --dry-run", "how far behind the sweeper is"],
  ],
  async run({ flags, io, print, open }) {
    const project = await open();
    if (flags["dry-run"] === true) {
      const { records, sweepLagMs } = await project.store.stats();
      print.line("sweep", { part: "records", dryRun: true, records, sweepLagMs });
      print.text(
        sweepLagMs === 0
          ? `nothing of ${records} records is past its retention`
          : `of ${records} records, the first to go is ${shownDuration(sweepLagMs)} past its retention`,
      );
      return exitCodes.ok;
    }
    const results = [];
    for (const sweeper of sweepersOf(project)) results.push(await sweepAll(sweeper, print, io.signal));
    print.rows("sweep", results, [
      { head: "PART", cell: ({ part }) => part },
      { head: "REMOVED", cell: ({ deleted }) => deleted, align: "right" },
      { head: "", cell: shownResult, style: () => "yellow" },
    ]);
    const counts = results.filter(({ deleted }) => deleted > 0).map(({ part, deleted }) => `${part} ${deleted}`);
    const why = `${flags.reason ?? "ichido sweep"}: ${counts.join(", ")}`.slice(0, 1_000);
    if (counts.length > 0) await project.store.note({ actor: actorOf(flags, io.env), action: "sweep", reason: why });
    return exitCodes.ok;
  },
});
