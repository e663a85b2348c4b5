/** `ichido reconcile`: asks providers about all records in doubt, once. */
import { createReconciler } from "../../core/engine/reconciler.ts";
import type { ReconcilerReport } from "../../core/engine/reconciliation.ts";
import { recordJson } from "../../operations/told-record.ts";
import { defineCommand, jsonFlag, UsageError } from "../command.ts";
import { actorOf, decisionFlags } from "../decision.ts";
import { CommandError, exitCodes } from "../exit-codes.ts";
import { projectFlags } from "../project.ts";
import { walk } from "../record-filter.ts";
import { recordColumns } from "../record-view.ts";
import { durationOf } from "../times.ts";

const looksMax = 10_000;

const add = (a: ReconcilerReport, b: ReconcilerReport): ReconcilerReport => ({
  adopted: a.adopted + b.adopted,
  released: a.released + b.released,
  held: a.held + b.held,
  waiting: a.waiting + b.waiting,
  overtaken: a.overtaken + b.overtaken,
  failed: a.failed + b.failed,
});

const sumOf = (report: ReconcilerReport): number =>
  Object.values(report).reduce((sum: number, each: number) => sum + each, 0);
const none: ReconcilerReport = { adopted: 0, released: 0, held: 0, waiting: 0, overtaken: 0, failed: 0 };

export const reconcileCommand = defineCommand({
  name: "reconcile",
  summary: "ask providers about records in doubt, once",
  about: `
Takes every record whose outcome is unknown, of the operations that the configuration's reconciler names, asks its verify,
and settles it by the answer; each settlement is in the audit, in the reconciler's name, and beside them who had it done
and why. Records on hold wait for a person, and are left alone.`,
  flags: {
    "older-than": { type: "string", value: "time", says: "leave younger ones to their callers; default 0s" },
    "dry-run": decisionFlags["dry-run"],
    reason: decisionFlags.reason,
    actor: decisionFlags.actor,
    ...jsonFlag,
    ...projectFlags,
  },
  examples: [
    ["ichido reconcile", "from cron"],
    ["ichido reconcile --reason 'outage of 14:02'", "after an outage"],
  ],
  exits: "0 nothing is left in doubt, 3 some are still open or on hold, 6 the store failed on the way.",
  async run({ flags, io, print, open }) {
    const olderThanMs = flags["older-than"] === undefined ? 0 : durationOf("--older-than", flags["older-than"]);
    const { ichido, store, nameOf, reconciler: options, place } = await open();
    if (ichido === undefined || options === undefined)
      throw new UsageError(
        `${place} has no reconciler: give its options in the configuration, as createReconciler gets them`,
      );
    const names = Object.keys(options.operations);
    const inDoubt = [];
    for (const operation of names)
      for await (const record of walk(store, { operation, state: "unknown" })) inDoubt.push(record);
    if (flags["dry-run"] === true) {
      const looking = { reveal: false, nameOf };
      print.rows("record", inDoubt, recordColumns(looking), (record) => recordJson(record, looking));
      print.note(`${inDoubt.length} would be asked about, but for those on hold`);
      return inDoubt.length > 0 ? exitCodes.finding : exitCodes.ok;
    }
    const reconciler = createReconciler(ichido, { ...options, olderThanMs });
    let report = none;
    try {
      for (let looks = 0; looks < looksMax && !io.signal.aborted; looks += 1) {
        const seen = await reconciler.tick();
        report = add(report, seen);
        print.progress(sumOf(report), inDoubt.length, "records");
        // What waits is not looked at again before its time, so that a look in the end finds nothing.
        if (sumOf(seen) === 0) break;
      }
    } finally {
      await reconciler.stop();
    }
    const { adopted, released, held } = report;
    const counts = Object.entries({ adopted, released, held }).filter(([, count]) => count > 0);
    if (counts.length > 0) {
      const done = counts.map(([what, count]) => `${what} ${count}`).join(", ");
      const reason = `${flags.reason ?? "ichido reconcile"}: ${done}`.slice(0, 1_000);
      await store.note({ actor: actorOf(flags, io.env), action: "reconcile", reason });
    }
    print.line("reconcile", { ...report, seen: inDoubt.length });
    print.details(Object.entries(report).map(([name, count]) => [name, count] as const));
    if (report.failed > 0)
      throw new CommandError("unreachable", `${report.failed} could not be settled: the store failed`);
    // Also those that were too young to be asked about, or on hold.
    for (const operation of names)
      if ((await store.list({ operation, state: "unknown", limit: 1 })).records.length > 0) return exitCodes.finding;
    return exitCodes.ok;
  },
});
