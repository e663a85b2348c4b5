/** `ichido outbox replay|discard <number>…`: a person's decision about events that were given up. */
import { shownError } from "../../operations/told-record.ts";
import { defineCommand, jsonFlag, UsageError, type Command } from "../command.ts";
import { actorOf, confirmed, decisionFlags, noteEvents, reasonAbout, reasonOf } from "../decision.ts";
import { exitCodes, notFound } from "../exit-codes.ts";
import { outboxOf } from "../letter-view.ts";
import { projectFlags } from "../project.ts";
import { seqOf } from "./outbox-look.ts";

const lettersMax = 1_000;

const texts = {
  replay: {
    summary: "send events again that were given up",
    about: `
Sends dead letters again, with the same ids, before everything that waited behind them. Consumers that saw one take it for
a duplicate.`,
    does: "is sent again",
    example: "ichido outbox replay 4711 4712 --reason 'broker is back' --yes",
  },
  discard: {
    summary: "let events go that were given up",
    about: `
Removes dead letters: nobody gets them. Keys that waited for them move on.`,
    does: "is gone; its key moves on",
    example: "ichido outbox discard 4711 --reason 'order was a test' --yes",
  },
} as const;

function decideCommand(action: keyof typeof texts): Command {
  const { summary, about, does, example } = texts[action];
  return defineCommand({
    name: `outbox ${action}`,
    summary,
    args: "<number>…",
    argsMax: lettersMax,
    about,
    flags: { ...decisionFlags, ...jsonFlag, ...projectFlags },
    examples: [[example, "numbers of ichido outbox list"]],
    exits: "4 where one of them is not there; the others are decided about.",
    async run({ flags, args, io, print, open }) {
      if (args.length === 0) throw new UsageError("name numbers of ichido outbox list");
      const seqs = args.map(seqOf);
      const project = await open();
      const outbox = outboxOf(project);
      const letters = await Promise.all(seqs.map((seq) => outbox.dead.get(seq)));
      const found = letters.filter((letter) => letter !== undefined);
      const missing = seqs.filter((_, index) => letters[index] === undefined);
      const isTrial = flags["dry-run"] === true;
      if (found.length === 0) throw notFound(`no dead letter ${seqs.join(", ")}`);
      if (!isTrial) {
        for (const letter of found)
          print.note(`${letter.seq}  ${letter.message.topic}  ${shownError(letter, { reveal: false }) ?? ""}`);
        await confirmed(flags, io, `${action} ${found.length} event${found.length === 1 ? "" : "s"}?`);
      }
      const decision = isTrial ? undefined : { actor: actorOf(flags, io.env), reason: await reasonOf(flags, io) };
      for (const [index, { seq, message }] of found.entries()) {
        print.progress(index, found.length, "events");
        const result = decision === undefined ? "ok" : await outbox.dead[action]({ seq, ...decision });
        if (result === "absent") missing.push(seq);
        else if (decision !== undefined) {
          const reason = reasonAbout(decision.reason, `${seq} ${message.topic} ${message.id}`);
          await noteEvents(project.store, print, "outbox", { ...decision, action, reason });
        }
        print.line("decided", { seq, id: message.id, topic: message.topic, action, result, dryRun: isTrial });
        if (result === "ok") print.text(isTrial ? `${seq} would be: ${does}` : `${seq} ${does}`);
      }
      if (missing.length > 0) throw notFound(`no dead letter ${missing.join(", ")}`);
      return exitCodes.ok;
    },
  });
}

export const outboxReplayCommand = decideCommand("replay");
export const outboxDiscardCommand = decideCommand("discard");
