/** `ichido keys show <key>`: all that is known of a record. */
import type { Store, StoredRecord } from "../../core/contract/store.ts";
import { leaseTold } from "../../core/record-machine/seen.ts";
import {
  attemptJson,
  auditJson,
  recordJson,
  shownKey,
  shownResource,
  shownText,
  stepJson,
  suspectJson,
  textOfBytes,
  type Looking,
} from "../../operations/told-record.ts";
import { defineCommand, jsonFlag, UsageError } from "../command.ts";
import { noteReveal, revealFlags } from "../decision.ts";
import { exitCodes } from "../exit-codes.ts";
import { attemptColumns, auditColumns, resourceColumns, stepColumns, suspectColumns } from "../history-view.ts";
import type { Printer } from "../printer.ts";
import { projectFlags } from "../project.ts";
import { recordsFor, scopeFlags } from "../record-filter.ts";
import { labelsText, shownState, styleOfState } from "../record-view.ts";
import { shownBytes, shownDuration, shownMoment } from "../times.ts";

async function historyOf(store: Store, { identity }: StoredRecord) {
  const [steps, attempts, audit, resources, twins] = await Promise.all([
    store.steps(identity),
    store.attempts(identity),
    store.audit(identity),
    store.resources(identity),
    store.twins(identity),
  ]);
  return { steps, attempts, audit, resources, twins };
}

type History = Awaited<ReturnType<typeof historyOf>>;

function shownLease(record: StoredRecord): string | undefined {
  const lease = leaseTold(record);
  if (lease === undefined || lease.is === "ended") return lease?.is;
  return lease.is === "live" ? `${shownDuration(lease.ms)} left` : `lapsed ${shownDuration(lease.ms)} ago`;
}

function printRecord(print: Printer, record: StoredRecord, looking: Looking): void {
  const { identity, response, state } = record;
  print.details([
    ["id", looking.nameOf(identity)],
    ["key", shownKey(identity.key, looking)],
    ["operation", identity.operation],
    ["tenant", identity.tenant],
    ["principal", identity.principal],
    ["state", shownState(record), styleOfState[state]],
    ["hold reason", shownText(record.holdReason, identity.key, looking)],
    ["lease", shownLease(record)],
    ["fence", record.fence],
    ["attempts", record.attempts],
    ["labels", labelsText(record, looking)],
    ["first seen", shownMoment(record.createdAtMs)],
    ["changed", shownMoment(record.updatedAtMs)],
    ["expires", shownMoment(record.expiresAtMs)],
    [
      "answer",
      response && `${response.status}, ${response.kind === "full" ? shownBytes(response.body.length) : "not kept"}`,
    ],
    ["interim", record.interim?.status],
    ...(looking.reveal ? (response?.headers ?? []).map(([name, value]) => [`  ${name}`, value] as const) : []),
    ["body", looking.reveal && response !== undefined ? textOfBytes(response.body) : undefined],
  ]);
}

function printHistory(print: Printer, { identity }: StoredRecord, history: History, looking: Looking): void {
  const section = (title: string, rows: readonly unknown[]): void => {
    if (rows.length > 0) print.text(`\n${title}`, "bold");
  };
  const { resources, steps, attempts, twins } = history;
  const audit = history.audit.map((entry) => ({ ...entry, record: identity }));
  section("made", resources);
  const made = resources.map((each) => shownResource(each, identity.key, looking));
  print.rows("resource", made, resourceColumns);
  section("steps", steps);
  print.rows("step", steps, stepColumns, stepJson);
  section("requests", attempts);
  print.rows("attempt", attempts, attemptColumns(looking), (attempt) => attemptJson(attempt, looking));
  section("suspected duplicates: the same caller and content under another key", twins);
  print.rows("suspect", twins, suspectColumns(looking), (twin) => suspectJson(twin, looking));
  section("audit", audit);
  print.rows("audit", audit, auditColumns(looking), (entry) => auditJson(entry, looking));
}

export const keysShowCommand = defineCommand({
  name: "keys show",
  summary: "show all that is known of a record",
  args: "<key>",
  argsMax: 1,
  about: `
Shows the record of a key, or of an id as ichido keys list prints it: its state and fence, what it made, its steps, who
asked and what they got, suspected duplicates and the audit. Bodies and headers are shown with --reveal alone.`,
  flags: { ...scopeFlags, ...revealFlags, ...jsonFlag, ...projectFlags },
  examples: [
    ["ichido keys show 6f1c2b1e-8a44-4a5e-9d0e-5d2b8f3c7a10", "the key of a ticket"],
    [
      "ichido keys show @3fa9c1d2e0b7 --reveal --reason 'ticket 4711'",
      "with its key and its answer; noted in the audit",
    ],
  ],
  exits: "4 where there is no such record.",
  async run({ flags, args, io, print, open }) {
    const [wanted] = args;
    if (wanted === undefined) throw new UsageError("name a key, or an id of ichido keys list");
    const project = await open();
    const { store, nameOf } = project;
    const listed = await recordsFor(project, wanted, flags);
    await noteReveal(store, flags, io, listed);
    const looking = { reveal: flags.reveal === true, nameOf };
    for (const [index, { identity }] of listed.entries()) {
      // A list leaves bodies out.
      const record = (await store.find(identity)) ?? listed[index];
      if (record === undefined) continue;
      if (index > 0) print.text("");
      const body = looking.reveal && record.response !== undefined ? textOfBytes(record.response.body) : undefined;
      print.line("record", {
        ...recordJson(record, looking),
        ...(looking.reveal ? { headers: record.response?.headers, body } : {}),
      });
      printRecord(print, record, looking);
      printHistory(print, record, await historyOf(store, record), looking);
    }
    return exitCodes.ok;
  },
});
