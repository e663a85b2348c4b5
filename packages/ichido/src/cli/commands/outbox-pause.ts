/** `ichido outbox pause|resume`: all relays of an outbox stop sending, in whatever process, and go on. */
import { defineCommand, jsonFlag, type Command } from "../command.ts";
import { actorOf, confirmed, decisionFlags, reasonOf } from "../decision.ts";
import { exitCodes } from "../exit-codes.ts";
import { outboxOf } from "../letter-view.ts";
import { projectFlags } from "../project.ts";

const texts = {
  pause: {
    summary: "stop all relays of the outbox, in all processes",
    about: `
Relays send nothing more within a third of their lease (a few seconds); what is on its way arrives. Events are added as
ever, and wait until ichido outbox resume.`,
    done: "paused: relays stop within a third of their lease",
    already: "it was paused already",
    example: "ichido outbox pause --reason 'consumers run a migration' --yes",
  },
  resume: {
    summary: "let the relays of the outbox go on",
    about: `
Relays take their lanes again within a third of their lease, and send what waits in its order.`,
    done: "resumed: relays go on within a third of their lease",
    already: "it was not paused",
    example: "ichido outbox resume --reason 'migration is done' --yes",
  },
} as const;

function pauseCommand(action: keyof typeof texts): Command {
  const { summary, about, done, already, example } = texts[action];
  return defineCommand({
    name: `outbox ${action}`,
    summary,
    about,
    flags: { ...decisionFlags, ...jsonFlag, ...projectFlags },
    examples: [[example, "noted in the outbox's own audit"]],
    async run({ flags, io, print, open }) {
      const outbox = outboxOf(await open());
      const paused = await outbox.paused();
      const isTrial = flags["dry-run"] === true;
      const isThere = (paused !== undefined) === (action === "pause");
      if (!isTrial && !isThere) await confirmed(flags, io, `${action} all relays?`);
      const result =
        isTrial || isThere
          ? isThere
            ? "already"
            : "ok"
          : await outbox[action]({ actor: actorOf(flags, io.env), reason: await reasonOf(flags, io) });
      print.line("outbox", { action, result, dryRun: isTrial });
      print.text(result === "already" ? already : isTrial ? `would be ${done}` : done);
      return exitCodes.ok;
    },
  });
}

export const outboxPauseCommand = pauseCommand("pause");
export const outboxResumeCommand = pauseCommand("resume");
