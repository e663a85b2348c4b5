/** `ichido keys forget`: erases what records hold of a person, and keeps the fact. */
import type { ForgetResult } from "../../core/contract/history.ts";
import type { StoredRecord } from "../../core/contract/store.ts";
import { forget } from "../../core/engine/forgetting.ts";
import { defineCommand, jsonFlag, UsageError } from "../command.ts";
import { actorOf, confirmed, decisionFlags, reasonOf } from "../decision.ts";
import { exitCodes, notFound, refused } from "../exit-codes.ts";
import { recordName } from "../masked-key.ts";
import { projectFlags } from "../project.ts";
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

export const keysForgetCommand = defineCommand({
  name: "keys forget",
  summary: "erase what records hold of a person, and keep the fact",
  args: "[key]",
  argsMax: 1,
  about: `
Erases answers, labels, principals, resources, results of steps and attempts of the records that match. What stays is a
tombstone: the key refuses other content and never runs again. Records at work or in doubt are left alone and told. Events
in outbox and inbox are your own: see their retention.`,
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
    const { ichido, store } = await open();
    const records: StoredRecord[] = [];
    if (wanted !== undefined) records.push(await oneRecord(store, wanted, flags));
    else for await (const record of walk(store, query)) if (records.push(record) === recordsMax) break;
    if (records.length === 0) throw notFound("no record matches");
    const isTrial = flags["dry-run"] === true;
    if (isTrial) {
      print.rows("forget", records, recordColumns({ reveal: false }), (record) => ({
        id: recordName(record.identity),
        operation: record.identity.operation,
        state: record.state,
        dryRun: true,
      }));
      print.note(`${records.length} would be forgotten, but for those at work or in doubt`);
      return exitCodes.ok;
    }
    // The selection is frozen: each is forgotten as it was seen, or not at all.
    print.rows("", print.json ? [] : records.slice(0, shownMax), recordColumns({ reveal: false }));
    await confirmed(flags, io, `forget ${records.length} record${records.length === 1 ? "" : "s"} for good?`);
    const decision = { actor: actorOf(flags, io.env), reason: await reasonOf(flags, io) };
    if (query.label !== undefined && decision.reason.includes(query.label.value))
      throw new UsageError("--reason: it is kept; name the request, not what is to be forgotten");
    const given =
      flags.fence === undefined ? undefined : wholeNumberOf("--fence", flags.fence, 1, Number.MAX_SAFE_INTEGER);
    const left: string[] = [];
    let done = 0;
    for (const [index, record] of records.entries()) {
      print.progress(index, records.length, "records");
      const seen = { ...record, fence: given ?? record.fence };
      const [kept] = (await forget(ichido ?? store, { record: seen, ...decision })).left;
      const id = recordName(record.identity);
      print.line("forget", { id, operation: record.identity.operation, result: kept?.why ?? "ok", dryRun: false });
      if (kept === undefined) done += 1;
      else left.push(`${id} ${meanings[kept.why]}`);
      if (io.signal.aborted) break;
    }
    print.text(`${done} of ${records.length} forgotten`);
    if (left.length > 0) throw refused(`${left.length} left alone: ${left.slice(0, shownMax).join("; ")}`);
    return exitCodes.ok;
  },
});
