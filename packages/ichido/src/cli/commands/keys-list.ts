/** `ichido keys list`: records by state, label and scope. */
import type { StoredRecord } from "../../core/contract/store.ts";
import { recordJson } from "../../operations/told-record.ts";
import { defineCommand, jsonFlag } from "../command.ts";
import { noteReveal, revealFlags } from "../decision.ts";
import { exitCodes } from "../exit-codes.ts";
import { projectFlags } from "../project.ts";
import { filterFlags, queryOf, walk } from "../record-filter.ts";
import { recordColumns } from "../record-view.ts";
import { wholeNumberOf } from "../times.ts";

const limitDefault = 50;
const limitMax = 100_000;

export const keysListCommand = defineCommand({
  name: "keys list",
  summary: "list records by state, label, resource and scope",
  about: `
Lists records in the order of their keys. Keys are shown in part; the id in the first column stands for the key in other
commands.`,
  flags: {
    ...filterFlags,
    limit: { type: "string", value: "n", says: `default ${limitDefault}, at most ${limitMax}` },
    ...revealFlags,
    ...jsonFlag,
    ...projectFlags,
  },
  examples: [
    ["ichido keys list --state unknown", "what waits for a provider or a person"],
    ["ichido keys list --label customer=42 --json", "all of one customer, for a program"],
  ],
  async run({ flags, io, print, open }) {
    const query = queryOf(flags);
    const limit = flags.limit === undefined ? limitDefault : wholeNumberOf("--limit", flags.limit, 1, limitMax);
    const { store, nameOf } = await open();
    const records: StoredRecord[] = [];
    let more = false;
    // A store's own cursor has a key in it, and so is never shown.
    const onLooked = (looked: number): void => print.progress(looked, undefined, "records looked at");
    for await (const record of walk(store, query, { atOnce: limit + 1, onLooked })) {
      more = records.length === limit;
      if (more) break;
      records.push(record);
    }
    await noteReveal(store, flags, io, records);
    const looking = { reveal: flags.reveal === true, nameOf };
    print.rows("record", records, recordColumns(looking), (record) => recordJson(record, looking));
    print.line("page", { records: records.length, more });
    if (print.json) return exitCodes.ok;
    if (records.length === 0) print.note("no record matches");
    else if (more) print.note("there are more: narrow it, or raise --limit");
    return exitCodes.ok;
  },
});
