/** `ichido inbox replay|discard <handler> <id>`: a person's decision about a message that was given up. */
import { present } from "../../core/contract/present.ts";
import { shownError } from "../../operations/told-record.ts";
import { defineCommand, jsonFlag, UsageError } from "../command.ts";
import type { Call, Command, Flags } from "../command.ts";
import type { InboxDeadLetter } from "../../inbox/index.ts";
import { actorOf, confirmed, decisionFlags, noteEvents, reasonAbout, reasonOf } from "../decision.ts";
import { exitCodes, notFound, refused } from "../exit-codes.ts";
import { inboxOf } from "../letter-view.ts";
import { projectFlags } from "../project.ts";

const shared = { ...decisionFlags, ...jsonFlag, ...projectFlags } as const satisfies Flags;
const replayFlags = {
  to: { type: "string", multiple: true, value: "handler", says: "the handler that is to run it instead" },
  ...shared,
} as const satisfies Flags;

const discardFlags = {
  state: {
    type: "string",
    value: "state",
    says: "as ichido inbox list told it, dead or replaying; default dead; on a terminal you are asked instead",
  },
  ...shared,
} as const satisfies Flags;

const does = { replay: "runs again at the next pass of its consumer", discard: "is gone" } as const;

type State = InboxDeadLetter["state"];
const states: readonly State[] = ["dead", "replaying"];

/** The state that the person saw: told by them, or shown before they agree. `--yes` agrees to no replay that it did not see. */
function seenState(given: string | undefined, letter: InboxDeadLetter, isAsked: boolean): State {
  if (given === undefined) return isAsked ? letter.state : "dead";
  const state = states.find((each) => each === given);
  if (state === undefined) throw new UsageError(`--state: expected ${states.join(" or ")}, got ${given}`);
  return state;
}

interface Choice {
  readonly to?: readonly string[] | undefined;
  readonly state?: string | undefined;
}

async function decide(
  action: keyof typeof does,
  { flags, args: [handler, id], io, print, open }: Call<typeof shared>,
  choice: Choice,
): Promise<0> {
  if (handler === undefined || id === undefined) throw new UsageError("name a handler and an id of ichido inbox list");
  const project = await open();
  const inbox = inboxOf(project);
  const letter = await inbox.dead.get({ handler, id });
  if (letter === undefined) throw notFound(`there is no dead letter ${id} of ${handler}`);
  const isTrial = flags["dry-run"] === true;
  const about = { handler, id, topic: letter.message.topic, action, dryRun: isTrial };
  const state = seenState(choice.state, letter, io.ask !== undefined && flags.yes !== true);
  const changed = refused(
    `${id} of ${handler} is not as you saw it, ${state}: somebody decided about it. Look again (ichido inbox show), then give --state`,
  );
  if (action === "discard" && state !== letter.state) throw changed;
  if (isTrial) {
    print.line("decided", { ...about, result: "ok" });
    print.text(`would be: ${id} of ${handler} ${does[action]}`);
    return exitCodes.ok;
  }
  print.note(`${id}  ${letter.message.topic}  ${letter.reason}  ${shownError(letter, { reveal: false }) ?? ""}`);
  await confirmed(flags, io, `${letter.state === "replaying" ? "it is about to run again\n" : ""}${action} it?`);
  const { actor, reason } = { actor: actorOf(flags, io.env), reason: await reasonOf(flags, io) };
  const decision = { handler, id, actor, reason };
  const result =
    action === "discard"
      ? await inbox.dead.discard({ ...decision, state })
      : await inbox.dead.replay({ ...decision, ...present({ to: choice.to }) });
  print.line("decided", { ...about, result });
  if (result === "changed") throw changed;
  if (result === "absent") throw notFound("somebody decided about it meanwhile");
  if (result === "unreadable")
    throw refused("what the broker delivered is no event: no handler can run it; discard it");
  if (result === "ok")
    await noteEvents(project.store, print, "inbox", { action, actor, reason: reasonAbout(reason, `${handler} ${id}`) });
  print.text(result === "already" ? "it is marked already" : `${id} ${does[action]}`, "green");
  return exitCodes.ok;
}

export const inboxReplayCommand: Command = defineCommand({
  name: "inbox replay",
  summary: "run a message again that was given up",
  args: "<handler> <id>",
  argsMax: 2,
  about: `
Marks a dead letter for the consumers of its handler, which run it at their next pass. One that no handler wanted needs --to.`,
  flags: replayFlags,
  examples: [
    [
      "ichido inbox replay mailer 0192f1c0-7b1e-7c3a-b1d2-5e8f9a0b1c2d --reason 'mail server is back' --yes",
      "once more",
    ],
  ],
  exits: "4 where there is no such letter, 5 where it is no event.",
  run: (call) => decide("replay", call, { to: call.flags.to }),
});

export const inboxDiscardCommand: Command = defineCommand({
  name: "inbox discard",
  summary: "let a message go that was given up",
  args: "<handler> <id>",
  argsMax: 2,
  about: `
Forgets a dead letter. Redeliveries of it stay duplicates for the retention of the inbox. One that somebody lets run again
since you looked is refused.`,
  flags: discardFlags,
  examples: [["ichido inbox discard mailer 0192f1c0-7b1e-7c3a-b1d2-5e8f9a0b1c2d --reason 'a test' --yes", "for good"]],
  exits: "4 where there is no such letter, 5 where it is in another state than you saw.",
  run: (call) => decide("discard", call, { state: call.flags.state }),
});
