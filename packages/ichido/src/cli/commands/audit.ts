/** `ichido audit`: what people did, from old to new. */
import { present } from "../../core/contract/present.ts";
import { auditJson } from "../../operations/told-record.ts";
import { defineCommand, jsonFlag } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { auditColumns } from "../history-view.ts";
import { projectFlags } from "../project.ts";
import { durationOf } from "../times.ts";

const pageMax = 500;

export const auditCommand = defineCommand({
  name: "audit",
  summary: "export what people did: settlements, reveals, sweeps, migrations",
  about: `
Prints the audit of the store from old to new. It is only ever added to. Decisions about dead letters are shown with them.`,
  flags: {
    since: { type: "string", value: "time", says: "no older than this: 24h, 7d; default all" },
    ...jsonFlag,
    ...projectFlags,
  },
  examples: [["ichido audit --since 30d --json > audit.jsonl", "for whoever has to keep it"]],
  async run({ flags, print, open }) {
    const fromAgoMs = flags.since === undefined ? undefined : durationOf("--since", flags.since);
    const { store, nameOf } = await open();
    const looking = { reveal: false, nameOf };
    let cursor: string | undefined;
    let count = 0;
    for (;;) {
      const page = await store.auditLog({
        limit: pageMax,
        ...present({ cursor, fromAgoMs: cursor === undefined ? fromAgoMs : undefined }),
      });
      print.rows("audit", page.entries, auditColumns(looking), (entry) => auditJson(entry, looking));
      count += page.entries.length;
      if (page.entries.length < pageMax) break;
      cursor = page.cursor;
    }
    if (count === 0) print.note("nothing was noted");
    return exitCodes.ok;
  },
});
