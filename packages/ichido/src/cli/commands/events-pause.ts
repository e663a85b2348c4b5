/** `ichido outbox|inbox pause|resume`: all relays or consumers stop, in whatever process, and go on. */
import { defineCommand, jsonFlag, type Command } from "../command.ts";
import { actorOf, confirmed, decisionFlags, noteEvents, reasonOf } from "../decision.ts";
import { exitCodes } from "../exit-codes.ts";
import { inboxOf, outboxOf } from "../letter-view.ts";
import { projectFlags } from "../project.ts";

const texts = {
  outbox: {
    whom: "relays",
    pause: {
      summary: "stop all relays of the outbox, in all processes",
      about: `
Relays send nothing more within a third of their lease (a few seconds); what is on its way arrives. Events are added as
ever, and wait until ichido outbox resume.`,
      done: "paused: relays stop within a third of their lease",
      already: "it was paused already",
      reason: "consumers run a migration",
    },
    resume: {
      summary: "let the relays of the outbox go on",
      about: `
Relays take their lanes again within a third of their lease, and send what waits in its order.`,
      done: "resumed: relays go on within a third of their lease",
      already: "it was not paused",
      reason: "migration is done",
    },
  },
  inbox: {
    whom: "consumers",
    pause: {
      summary: "stop all consumers of the inbox, in all processes",
      about: `
Consumers begin nothing more within their replayMs (five seconds); what runs ends. What the broker delivers is kept in hand
for a while and handed back: nothing is acknowledged and no attempt is used up, until ichido inbox resume.`,
      done: "paused: consumers stop within their replayMs",
      already: "it was paused already",
      reason: "the ledger is being repaired",
    },
    resume: {
      summary: "let the consumers of the inbox go on",
      about: `
Consumers run what they have in hand, what is parked and what the broker delivers again.`,
      done: "resumed: consumers go on within their replayMs",
      already: "it was not paused",
      reason: "the ledger is right again",
    },
  },
} as const;

function pauseCommand(part: keyof typeof texts, action: "pause" | "resume"): Command {
  const { summary, about, done, already, reason } = texts[part][action];
  return defineCommand({
    name: `${part} ${action}`,
    summary,
    about,
    flags: { ...decisionFlags, ...jsonFlag, ...projectFlags },
    examples: [
      [`ichido ${part} ${action} --reason '${reason}' --yes`, `noted in the audit, and in that of the ${part}`],
    ],
    async run({ flags, io, print, open }) {
      const project = await open();
      const paused = part === "outbox" ? outboxOf(project) : inboxOf(project);
      const isPaused = (await paused.paused()) !== undefined;
      const isTrial = flags["dry-run"] === true;
      const isThere = isPaused === (action === "pause");
      if (!isTrial && !isThere) await confirmed(flags, io, `${action} all ${texts[part].whom}?`);
      let result: "ok" | "already" = isThere ? "already" : "ok";
      if (!isTrial && !isThere) {
        const decision = { actor: actorOf(flags, io.env), reason: await reasonOf(flags, io) };
        result = await paused[action](decision);
        await noteEvents(project.store, print, part, { action, ...decision });
      }
      print.line(part, { action, result, dryRun: isTrial });
      print.text(result === "already" ? already : isTrial ? `would be ${done}` : done);
      return exitCodes.ok;
    },
  });
}

export const outboxPauseCommand = pauseCommand("outbox", "pause");
export const outboxResumeCommand = pauseCommand("outbox", "resume");
export const inboxPauseCommand = pauseCommand("inbox", "pause");
export const inboxResumeCommand = pauseCommand("inbox", "resume");
