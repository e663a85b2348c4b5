/** `ichido outbox list|show`: events that were given up, keys that wait, and whether relays are paused. */
import { present } from "../../core/contract/present.ts";
import type { OutboxDeadLetter } from "../../outbox/index.ts";
import { auditJson, iso, messageJson, shownError, textOfBytes } from "../../operations/told-record.ts";
import { defineCommand, jsonFlag, UsageError } from "../command.ts";
import { noteReveal, revealFlags } from "../decision.ts";
import { exitCodes, notFound } from "../exit-codes.ts";
import { auditColumns } from "../history-view.ts";
import { letterFlags, outboxOf } from "../letter-view.ts";
import { projectFlags } from "../project.ts";
import { shownDuration, shownMoment, shownTime, wholeNumberOf } from "../times.ts";

const seqMax = Number.MAX_SAFE_INTEGER;
export const seqOf = (text: string): number => wholeNumberOf("the number", text, 1, seqMax);

function letterJson({ message, addedAtMs, deadAtMs, ...letter }: OutboxDeadLetter, reveal: boolean): object {
  return {
    ...letter,
    error: shownError(letter, { reveal }),
    addedAt: iso(addedAtMs),
    since: iso(deadAtMs),
    message: messageJson(message, reveal),
  };
}

export const outboxListCommand = defineCommand({
  name: "outbox list",
  summary: "list events that were given up, and keys that wait for them",
  about: `
Lists dead letters of the outbox, the oldest first, and how much waits to be sent. Their numbers stand for them in other
commands.`,
  flags: { ...letterFlags, ...jsonFlag, ...projectFlags },
  examples: [["ichido outbox list --topic order.paid", "what was given up of one topic"]],
  async run({ flags, print, open }) {
    const limit = flags.limit === undefined ? 50 : wholeNumberOf("--limit", flags.limit, 1, 1_000);
    const after = flags.cursor === undefined ? undefined : wholeNumberOf("--cursor", flags.cursor, 0, seqMax);
    const outbox = outboxOf(await open());
    const { letters, cursor } = await outbox.dead.list({ limit, ...present({ topic: flags.topic, cursor: after }) });
    print.rows(
      "dead-letter",
      letters,
      [
        { head: "NUMBER", cell: ({ seq }) => seq, align: "right", whole: true },
        { head: "TOPIC", cell: ({ message }) => message.topic },
        { head: "KEY", cell: ({ message }) => message.key },
        { head: "REASON", cell: ({ reason }) => reason, style: () => "yellow" },
        { head: "ATTEMPTS", cell: ({ attempts }) => attempts, align: "right" },
        { head: "SINCE", cell: ({ deadAtMs }) => shownTime(deadAtMs), whole: true },
        { head: "ERROR", cell: (letter) => shownError(letter, { reveal: false }), loose: true },
      ],
      (letter) => letterJson(letter, false),
    );
    const [stats, paused] = [await outbox.stats(), await outbox.paused()];
    print.line("outbox", { ...stats, paused: paused ?? null, cursor });
    if (print.json) return exitCodes.ok;
    if (cursor !== undefined) print.note(`there are more: --cursor ${cursor}`);
    const oldest = stats.oldestMs > 0 ? `, the oldest for ${shownDuration(stats.oldestMs)}` : "";
    print.note(
      `${stats.pending} waiting${oldest}; ${stats.dead} dead, ${stats.parked} keys parked, ${stats.relays} relays`,
    );
    if (paused !== undefined)
      print.note(`paused by ${paused.actor} at ${shownMoment(paused.sinceMs)}: ${paused.reason}`);
    return exitCodes.ok;
  },
});

export const outboxShowCommand = defineCommand({
  name: "outbox show",
  summary: "show an event that was given up",
  args: "<number>",
  argsMax: 1,
  about: `
Shows a dead letter of the outbox, the type of its error, and what people decided about it. Its payload, and what the
error says, are shown with --reveal alone.`,
  flags: { ...revealFlags, ...jsonFlag, ...projectFlags },
  examples: [["ichido outbox show 4711", "a number of ichido outbox list"]],
  exits: "4 where there is no such letter.",
  async run({ flags, args: [number], io, print, open }) {
    if (number === undefined) throw new UsageError("name a number of ichido outbox list");
    const seq = seqOf(number);
    const project = await open();
    const outbox = outboxOf(project);
    const [letter, audit] = [await outbox.dead.get(seq), await outbox.dead.audit(seq)];
    if (letter === undefined && audit.length === 0) throw notFound(`there is no dead letter ${seq}`);
    const reveal = flags.reveal === true;
    await noteReveal(project.store, flags, io, undefined);
    if (letter !== undefined) {
      print.line("dead-letter", letterJson(letter, reveal));
      print.details([
        ["number", letter.seq],
        ["id", letter.message.id],
        ["topic", letter.message.topic],
        ["key", letter.message.key],
        ["reason", letter.reason, "yellow"],
        ["attempts", letter.attempts],
        ["added", shownMoment(letter.addedAtMs)],
        ["given up", shownMoment(letter.deadAtMs)],
        ["payload", reveal ? textOfBytes(letter.message.payload) : `${letter.message.payload.length} bytes`],
      ]);
      if (letter.error !== undefined) print.text(shownError(letter, { reveal }) ?? "");
    } else print.note(`${seq} was decided about`);
    const looking = { reveal, nameOf: project.nameOf };
    print.rows("audit", audit, auditColumns(looking), (entry) => auditJson(entry, looking));
    return exitCodes.ok;
  },
});
