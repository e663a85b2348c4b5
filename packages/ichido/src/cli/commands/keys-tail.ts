/** `ichido keys tail`: requests as they are answered. */
import { setTimeout as sleep } from "node:timers/promises";
import type { LoggedAttempt } from "../../core/contract/history.ts";
import { present } from "../../core/contract/present.ts";
import { attemptJson, type Looking } from "../../operations/told-record.ts";
import { defineCommand, jsonFlag } from "../command.ts";
import { noteReveal, revealFlags } from "../decision.ts";
import { exitCodes } from "../exit-codes.ts";
import { styleOfOutcome } from "../history-view.ts";
import type { Printer } from "../printer.ts";
import { projectFlags } from "../project.ts";
import { durationOf, shownDuration, shownTime } from "../times.ts";
import { fitted, padded, visible } from "../visible-text.ts";

const pageMax = 500;
const everyMs = 1_000;

/** Columns before the last one, gaps included. */
const fixedWidth = 92;

function printAttempt(print: Printer, attempt: LoggedAttempt, looking: Looking, columns: number | undefined): void {
  print.line("attempt", attemptJson(attempt, looking));
  const { record, atMs, outcome, count, status, tookMs, process, release } = attempt;
  const where = visible([process, release].filter((each) => each !== undefined).join(" "));
  // In clear it is shown whole, however long.
  const key = looking.reveal ? [visible(record.key)] : [];
  const room = columns === undefined ? where.length : columns - fixedWidth - key.join("").length;
  const cells = [
    shownTime(atMs),
    looking.nameOf(record),
    ...key,
    padded(fitted(visible(record.operation), 24), 24),
    print.paint(
      padded(count === undefined ? outcome : `${outcome} ×${count}`, 12),
      styleOfOutcome[outcome] ?? "yellow",
    ),
    padded(String(status ?? ""), 3),
    padded(shownDuration(tookMs), 8, "right"),
    room < 8 ? "" : fitted(where, room),
  ];
  print.raw(`${cells.join("  ").trimEnd()}\n`);
}

export const keysTailCommand = defineCommand({
  name: "keys tail",
  summary: "follow requests as they are answered",
  about: `
Prints a line for every request that a protected route answers, from the attempt log, which is written a second or so after
it. Ends with Ctrl-C.`,
  flags: {
    since: { type: "string", value: "time", says: "begin with what is no older: 5m, 2h; default with what comes" },
    outcome: {
      type: "string",
      value: "words",
      says: "these alone: executed,replayed,in_progress,key_reused,outcome_unknown",
    },
    operation: { type: "string", value: "name", says: "of this operation alone" },
    once: { type: "boolean", says: "ends when all that is there is printed" },
    ...revealFlags,
    ...jsonFlag,
    ...projectFlags,
  },
  examples: [
    ["ichido keys tail --outcome outcome_unknown,key_reused", "what somebody should look at"],
    ["ichido keys tail --since 1h --once --json", "the last hour, for a program"],
  ],
  exits: "130 when it is interrupted.",
  async run({ flags, io, print, open }) {
    const wanted = flags.outcome?.split(",");
    const fromAgoMs =
      flags.since === undefined ? (flags.once === true ? undefined : 0) : durationOf("--since", flags.since);
    const { store, nameOf } = await open();
    await noteReveal(store, flags, io, undefined);
    let cursor: string | undefined;
    for (;;) {
      const query = { limit: pageMax, ...present({ cursor, fromAgoMs: cursor === undefined ? fromAgoMs : undefined }) };
      const page = await store.follow(query);
      cursor = page.cursor ?? cursor;
      for (const attempt of page.entries) {
        if (wanted?.includes(attempt.outcome) === false) continue;
        if (flags.operation !== undefined && attempt.record.operation !== flags.operation) continue;
        printAttempt(print, attempt, { reveal: flags.reveal === true, nameOf }, io.columns?.());
      }
      if (page.entries.length === pageMax) continue;
      if (flags.once === true) return exitCodes.ok;
      await sleep(everyMs, undefined, { signal: io.signal });
    }
  },
});
