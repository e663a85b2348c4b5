/** `ichido stats`: how much there is, and what waits. */
import { setTimeout as sleep } from "node:timers/promises";
import { defineCommand, jsonFlag } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { projectFlags, type Project } from "../project.ts";
import type { Printer } from "../printer.ts";
import type { Style } from "../style.ts";
import { durationOf, shownBytes, shownDuration } from "../times.ts";

async function look({ ichido, store, outbox, inbox }: Project) {
  const records = await store.stats();
  // An address does not tell whether the program has them.
  if (ichido === undefined) return { records };
  const [sent, taken] = await Promise.all([outbox?.stats(), inbox?.stats()]);
  return { records, ...(sent && { outbox: sent }), ...(taken && { inbox: taken }) };
}

type Look = Awaited<ReturnType<typeof look>>;

const alarm = (count: number): Style | undefined => (count > 0 ? "yellow" : undefined);

function age(ms: number | undefined): string | undefined {
  return ms === undefined || ms === 0 ? undefined : `, the oldest for ${shownDuration(ms)}`;
}

function printLook(print: Printer, { records, outbox, inbox }: Look): void {
  const about = records.estimated === true ? "about " : "";
  print.details([
    ["records", `${about}${records.records}`],
    ["  completed", `${about}${records.completed}`],
    ["  processing", records.processing],
    ["  failed", records.failed],
    ["  unknown", `${records.unknown}${age(records.oldestUnknownMs) ?? ""}`, alarm(records.unknown)],
    ["stored answers", `${about}${shownBytes(records.bodyBytes)}`],
    ["sweep lag", records.sweepLagMs === 0 ? "none" : shownDuration(records.sweepLagMs)],
    ...(outbox === undefined
      ? []
      : ([
          ["outbox", `${outbox.pending} waiting${age(outbox.oldestMs) ?? ""}`],
          ["  dead letters", outbox.dead, alarm(outbox.dead)],
          ["  parked keys", outbox.parked, alarm(outbox.parked)],
          ["  relays", outbox.relays],
        ] as const)),
    ...(inbox === undefined
      ? []
      : ([
          ["inbox", `${inbox.processed} remembered`],
          ["  dead letters", `${inbox.dead}${age(inbox.oldestDeadMs) ?? ""}`, alarm(inbox.dead)],
          ["  replaying", inbox.replaying],
          ["  parked", inbox.parked, alarm(inbox.parked)],
        ] as const)),
  ]);
}

const everyMsDefault = 2_000;

export const statsCommand = defineCommand({
  name: "stats",
  summary: "count records, events and what waits",
  about: `
Counts records by state, stored bytes, how far the sweeper is behind, and, with a configuration, outbox and inbox.
Redis walks over all keys for it.`,
  flags: {
    watch: { type: "boolean", says: "again and again, until Ctrl-C" },
    every: { type: "string", value: "time", says: "with --watch: how often; default 2s" },
    ...jsonFlag,
    ...projectFlags,
  },
  examples: [
    ["ichido stats", "once"],
    ["ichido stats --watch --every 10s --json", "a line every ten seconds"],
  ],
  async run({ flags, io, print, open }) {
    const everyMs = flags.every === undefined ? everyMsDefault : durationOf("--every", flags.every);
    const project = await open();
    for (;;) {
      const seen = await look(project);
      if (flags.watch === true && !print.json && io.columns !== undefined) io.out("\u001b[2J\u001b[H");
      print.line("stats", { at: new Date().toISOString(), ...seen });
      printLook(print, seen);
      if (flags.watch !== true) return exitCodes.ok;
      if (!print.json) print.text("");
      await sleep(everyMs, undefined, { signal: io.signal });
    }
  },
});
