/** `ichido inbox list|show`: messages that no handler could process. */
import { present } from "../../core/contract/present.ts";
import type { InboxDeadLetter } from "../../inbox/index.ts";
import { auditJson, iso, messageJson, shownError, textOfBytes } from "../../operations/told-record.ts";
import { defineCommand, jsonFlag, UsageError } from "../command.ts";
import { noteReveal, revealFlags } from "../decision.ts";
import { exitCodes, notFound } from "../exit-codes.ts";
import { auditColumns } from "../history-view.ts";
import { inboxOf, letterFlags } from "../letter-view.ts";
import { projectFlags } from "../project.ts";
import { shownMoment, shownTime, wholeNumberOf } from "../times.ts";

function letterJson({ message, sinceMs, ...letter }: InboxDeadLetter, reveal: boolean): object {
  return {
    ...letter,
    error: shownError(letter, { reveal }),
    since: iso(sinceMs),
    message: messageJson(message, reveal),
  };
}

export const inboxListCommand = defineCommand({
  name: "inbox list",
  summary: "list messages that no handler could process",
  about: `
Lists dead letters of the inbox, the oldest first, and how much waits. A handler's name and an id stand for one in other
commands.`,
  flags: {
    handler: { type: "string", value: "name", says: "of this handler alone" },
    ...letterFlags,
    ...jsonFlag,
    ...projectFlags,
  },
  examples: [["ichido inbox list --handler mailer", "what one handler gave up"]],
  async run({ flags, print, open }) {
    const limit = flags.limit === undefined ? 50 : wholeNumberOf("--limit", flags.limit, 1, 1_000);
    const after =
      flags.cursor === undefined ? undefined : wholeNumberOf("--cursor", flags.cursor, 0, Number.MAX_SAFE_INTEGER);
    const inbox = inboxOf(await open());
    const { handler, topic } = flags;
    const { letters, cursor } = await inbox.dead.list({ limit, ...present({ handler, topic, cursor: after }) });
    print.rows(
      "dead-letter",
      letters,
      [
        { head: "HANDLER", cell: (letter) => letter.handler, whole: true },
        { head: "ID", cell: ({ message }) => message.id, whole: true },
        { head: "TOPIC", cell: ({ message }) => message.topic },
        {
          head: "REASON",
          cell: ({ reason, state }) => (state === "replaying" ? "replaying" : reason),
          style: () => "yellow",
        },
        { head: "ATTEMPTS", cell: ({ attempts }) => attempts, align: "right" },
        { head: "SINCE", cell: ({ sinceMs }) => shownTime(sinceMs) },
        { head: "ERROR", cell: (letter) => shownError(letter, { reveal: false }), loose: true },
      ],
      (letter) => letterJson(letter, false),
    );
    const [stats, paused] = [await inbox.stats(), await inbox.paused()];
    print.line("inbox", { ...stats, paused: paused ?? null, cursor });
    if (print.json) return exitCodes.ok;
    if (cursor !== undefined) print.note(`there are more: --cursor ${cursor}`);
    print.note(
      `${stats.processed} remembered; ${stats.dead} dead, ${stats.replaying} replaying, ${stats.parked} parked`,
    );
    if (paused !== undefined)
      print.note(`paused by ${paused.actor} at ${shownMoment(paused.sinceMs)}: ${paused.reason}`);
    return exitCodes.ok;
  },
});

export const inboxShowCommand = defineCommand({
  name: "inbox show",
  summary: "show a message that its handler could not process",
  args: "<handler> <id>",
  argsMax: 2,
  about: `
Shows a dead letter of the inbox, the type of its error, and what people decided about it. Its payload, and what the
error says, are shown with --reveal alone.`,
  flags: { ...revealFlags, ...jsonFlag, ...projectFlags },
  examples: [["ichido inbox show mailer 0192f1c0-7b1e-7c3a-b1d2-5e8f9a0b1c2d", "as ichido inbox list names it"]],
  exits: "4 where there is no such letter.",
  async run({ flags, args: [handler, id], io, print, open }) {
    if (handler === undefined || id === undefined)
      throw new UsageError("name a handler and an id of ichido inbox list");
    const project = await open();
    const inbox = inboxOf(project);
    const [letter, audit] = [await inbox.dead.get({ handler, id }), await inbox.dead.audit({ handler, id })];
    if (letter === undefined && audit.length === 0) throw notFound(`there is no dead letter ${id} of ${handler}`);
    const reveal = flags.reveal === true;
    await noteReveal(project.store, flags, io, undefined);
    if (letter !== undefined) {
      print.line("dead-letter", letterJson(letter, reveal));
      print.details([
        ["handler", letter.handler],
        ["id", letter.message.id],
        ["topic", letter.message.topic],
        ["key", letter.message.key],
        ["state", letter.state],
        ["reason", letter.reason, "yellow"],
        ["attempts", letter.attempts],
        ["since", shownMoment(letter.sinceMs)],
        ["payload", reveal ? textOfBytes(letter.message.payload) : `${letter.message.payload.length} bytes`],
      ]);
      print.text(shownError(letter, { reveal }) ?? "");
    } else print.note("it was decided about");
    const looking = { reveal, nameOf: project.nameOf };
    print.rows("audit", audit, auditColumns(looking), (entry) => auditJson(entry, looking));
    return exitCodes.ok;
  },
});
