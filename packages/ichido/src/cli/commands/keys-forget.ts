/** `ichido keys forget`: erases what records hold of a person, and keeps the fact. */
import type { ForgetResult } from "../../core/contract/history.ts";
import type { StoredRecord } from "../../core/contract/store.ts";
import { forget } from "../../core/engine/forgetting.ts";
import { defineCommand, jsonFlag, UsageError } from "../command.ts";
import { actorOf, confirmed, decisionFlags, reasonOf } from "../decision.ts";
import { exitCodes, notFound, refused } from "../exit-codes.ts";
import type { Printer } from "../printer.ts";
import { projectFlags, type Project } from "../project.ts";
import type { EventForgetting, ForgottenEvents } from "../../sql/forgetting-events.ts";
import { oneRecord, queryOf, scopeFlags, walk } from "../record-filter.ts";
import { recordColumns } from "../record-view.ts";
import { wholeNumberOf } from "../times.ts";

const recordsMax = 100_000;
const shownMax = 20;

const meanings: Readonly<Record<Exclude<ForgetResult, "ok" | "forgotten">, string>> = {
  absent: "has gone",
  stale: "changed since it was looked at",
  live: "is at work",
  unknown: "is in doubt: settle it first",
};

type Told = ForgottenEvents & { readonly part: "outbox" | "inbox" };

/** What outbox and inbox keep of them, where there are any. */
async function forgetEvents(
  { outbox, inbox }: Pick<Project, "outbox" | "inbox">,
  request: EventForgetting | undefined,
): Promise<readonly Told[]> {
  if (request === undefined || request.values.length === 0) return [];
  const told: Told[] = [];
  for (const [part, events] of Object.entries({ outbox, inbox })) {
    // An address names a database, which need not have tables for events.
    if (events === undefined || (await events.plan()).length > 0) continue;
    told.push({ part: part as Told["part"], ...(await events.forget(request)) });
  }
  return told;
}

function tellEvents(print: Printer, { part, letters, emptied, waiting, isCut }: Told, dryRun: boolean): void {
  print.line("forgotten-events", { part, letters, emptied, waiting, isCut, dryRun });
  if (letters > 0) print.text(`${letters} dead letters of the ${part} ${dryRun ? "would be erased" : "erased"}`);
  if (waiting > 0) print.note(`${waiting} events of the ${part} wait: ask again when they have gone`);
}

export const keysForgetCommand = defineCommand({
  name: "keys forget",
  summary: "erase what records hold of a person, and keep the fact",
  args: "[key]",
  argsMax: 1,
  about: `
Erases answers, labels, principals, resources, results of steps and attempts of the records that match. What stays is a
tombstone: the key refuses other content and never runs again. Records at work or in doubt are left alone and told. With
--label, --resource or --principal, dead letters of outbox and inbox that tell of that value go too; events that wait to be
sent or processed are told: ask again when they have gone. Reasons in the audit that name it are emptied.`,
  flags: {
    label: { type: "string", value: "name=value", says: "all with this label: customer=42" },
    resource: { type: "string", value: "kind=id", says: "all that made this: payment=pay_9" },
    ...scopeFlags,
    fence: { type: "string", value: "n", says: "of one key: the fence that ichido keys show told" },
    ...decisionFlags,
    ...jsonFlag,
    ...projectFlags,
  },
  examples: [
    ["ichido keys forget --label customer=42 --dry-run", "what would be erased"],
    ["ichido keys forget --label customer=42 --reason 'request 881' --yes", "for good"],
  ],
  exits: "4 where nothing matches, 5 where some records must be settled first or changed meanwhile.",
  async run({ flags, args: [wanted], io, print, open }) {
    const query = queryOf(flags);
    if (
      (wanted === undefined) ===
      (query.label === undefined && query.resource === undefined && query.principal === undefined)
    )
      throw new UsageError("name one key, or --label, --resource or --principal");
    if (wanted === undefined && flags.fence !== undefined) throw new UsageError("--fence: it is of one key");
    const project = await open();
    const { ichido, store } = project;
    const values = [query.label?.value, query.resource?.id, query.principal].filter((each) => each !== undefined);
    const records: StoredRecord[] = [];
    if (wanted !== undefined) records.push(await oneRecord(project, wanted, flags));
    else for await (const record of walk(store, query)) if (records.push(record) === recordsMax) break;
    const isTrial = flags["dry-run"] === true;
    const trial = { values, actor: "nobody", reason: "dry run", dryRun: true };
    const events = isTrial ? await forgetEvents(project, trial) : [];
    const isNothing = (told: readonly Told[]): boolean =>
      records.length === 0 && told.every(({ letters, waiting, emptied }) => letters + waiting + emptied === 0);
    if ((isTrial || values.length === 0) && isNothing(events)) throw notFound("no record matches");
    if (isTrial) {
      print.rows("forget", records, recordColumns({ reveal: false, nameOf: project.nameOf }), (record) => ({
        id: project.nameOf(record.identity),
        operation: record.identity.operation,
        state: record.state,
        dryRun: true,
      }));
      for (const told of events) tellEvents(print, told, true);
      print.note(`${records.length} would be forgotten, but for those at work or in doubt`);
      return exitCodes.ok;
    }
    // The selection is frozen: each is forgotten as it was seen, or not at all.
    print.rows(
      "",
      print.json ? [] : records.slice(0, shownMax),
      recordColumns({ reveal: false, nameOf: project.nameOf }),
    );
    await confirmed(flags, io, `forget ${records.length} record${records.length === 1 ? "" : "s"} for good?`);
    const decision = { actor: actorOf(flags, io.env), reason: await reasonOf(flags, io) };
    if (values.some((value) => decision.reason.includes(value)))
      throw new UsageError("--reason: it is kept; name the request, not what is to be forgotten");
    const given =
      flags.fence === undefined ? undefined : wholeNumberOf("--fence", flags.fence, 1, Number.MAX_SAFE_INTEGER);
    const left: string[] = [];
    let done = 0;
    for (const [index, record] of records.entries()) {
      print.progress(index, records.length, "records");
      const seen = { ...record, fence: given ?? record.fence };
      const [kept] = (await forget(ichido ?? store, { record: seen, ...decision })).left;
      const id = project.nameOf(record.identity);
      print.line("forget", { id, operation: record.identity.operation, result: kept?.why ?? "ok", dryRun: false });
      if (kept === undefined) done += 1;
      else left.push(`${id} ${meanings[kept.why]}`);
      if (io.signal.aborted) break;
    }
    const gone = await forgetEvents(project, values.length > 0 ? { values, ...decision } : undefined);
    const said = await store.emptyReasons(values);
    if (isNothing(gone) && said === 0) throw notFound("nothing matches");
    for (const told of gone) tellEvents(print, told, false);
    if (said > 0) print.text(`${said} reasons in the audit emptied`);
    print.text(`${done} of ${records.length} forgotten`);
    for (const { part, waiting, isCut } of gone) {
      if (waiting > 0)
        left.push(`${waiting} event${waiting === 1 ? "" : "s"} of the ${part} wait${waiting === 1 ? "s" : ""}`);
      if (isCut) left.push(`not all of the ${part} was looked at`);
    }
    if (left.length > 0) throw refused(`${left.length} left alone: ${left.slice(0, shownMax).join("; ")}`);
    return exitCodes.ok;
  },
});
