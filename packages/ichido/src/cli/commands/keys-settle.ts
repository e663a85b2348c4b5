/** `ichido keys settle <key> adopt|release|hold`: a person's decision on a record in doubt. */
import type { SettleResult, StoredRecord } from "../../core/contract/store.ts";
import { settle, type Settlement } from "../../core/engine/settlement.ts";
import { nothingHappened } from "../../operations/release-check.ts";
import { adoptedAnswer, answerFlags, type AnswerFlags } from "../adopted-answer.ts";
import { defineCommand, jsonFlag, UsageError, type Io } from "../command.ts";
import { actorOf, confirmed, decisionFlags, reasonOf } from "../decision.ts";
import { exitCodes, notFound, refused, unreachable } from "../exit-codes.ts";
import { maskedKey } from "../../operations/masked-key.ts";
import { projectFlags, type Project } from "../project.ts";
import { oneRecord, scopeFlags } from "../record-filter.ts";
import { shownState } from "../record-view.ts";
import { wholeNumberOf } from "../times.ts";

const kinds = ["adopt", "release", "hold"] as const;
type Kind = (typeof kinds)[number];

function decisionFor(kind: Kind, flags: AnswerFlags): Settlement["decision"] {
  if (kind === "adopt") return { kind, answer: adoptedAnswer(flags) };
  for (const name of ["status", "body", "header"] as const) {
    if (flags[name] !== undefined) throw new UsageError(`--${name}: only adopt has an answer`);
  }
  return { kind };
}

const consequences: Readonly<Record<Kind, string>> = {
  adopt: "It happened: callers get this answer from now on, and it never runs again.",
  release: "It did not happen: the next request with this key runs it again. If it did happen, it happens twice.",
  hold: "Nobody runs it until a person decides again.",
};

const refusals: Readonly<Record<Exclude<SettleResult, "ok" | "absent">, string>> = {
  stale: "the record changed since you looked at it; look again",
  live: "an owner is at work; wait for its answer, or for the end of its lease",
  completed: "it has its answer already",
};

/** The fence of what the person saw: told by them, or looked up now and shown before they agree. */
async function seenFence(
  flags: { readonly fence?: string; readonly yes?: boolean },
  record: StoredRecord,
  about: { readonly id: string; readonly decision: Kind },
  io: Io,
): Promise<number> {
  if (flags.fence !== undefined) return wholeNumberOf("--fence", flags.fence, 1, Number.MAX_SAFE_INTEGER);
  // Who agrees beforehand has not seen what was looked up a moment ago.
  const reason = io.ask === undefined ? "there is no terminal to show the record on" : "with --yes nobody looks at it";
  if (io.ask === undefined || flags.yes === true)
    throw new UsageError(`--fence: ${reason}; give the fence that ichido keys show told`);
  io.err(`${about.id}  ${record.identity.operation}  ${shownState(record)}, ${record.attempts} attempt(s)\n`);
  await confirmed(flags, io, `${consequences[about.decision]}\n${about.decision}?`);
  return record.fence;
}

/** A release can do it twice: the probes must have seen that nothing happened, or a person where no probe can tell. */
async function askProvider({ ichido, store }: Project, record: StoredRecord, isChecked: boolean): Promise<void> {
  const answer = await nothingHappened(store, record, ichido?.probes ?? {});
  if (answer.outcome === "done") throw refused(answer.says);
  if (answer.outcome === "nothing" || isChecked) return;
  const sayIt = "look there, then say --i-checked-the-provider";
  if (answer.outcome === "unasked") throw unreachable(`${answer.says}; ${sayIt}`);
  throw refused(`--i-checked-the-provider: ${answer.says}; ${sayIt}`);
}

export const keysSettleCommand = defineCommand({
  name: "keys settle",
  summary: "decide on a record whose outcome is unknown: adopt, release or hold",
  args: "<key> adopt|release|hold",
  argsMax: 2,
  about: `
Settles a record whose outcome is unknown, with your name and reason in the audit.
  adopt    ${consequences.adopt}
  release  ${consequences.release}
  hold     ${consequences.hold}
The decision is about the record as you saw it: one that changed since is refused.`,
  flags: {
    fence: {
      type: "string",
      value: "n",
      says: "the fence that ichido keys show told; on a terminal you are asked instead",
    },
    ...answerFlags,
    "i-checked-the-provider": {
      type: "boolean",
      says: "release: you made sure that nothing happened there; needed where no probe tells it",
    },
    ...scopeFlags,
    ...decisionFlags,
    ...jsonFlag,
    ...projectFlags,
  },
  examples: [
    [
      "ichido keys settle @3fa9c1d2e0b7 adopt --status 201 --body '{\"id\":\"ch_9\"}' --reason 'bank has ch_9'",
      "it happened",
    ],
    ["ichido keys settle @3fa9c1d2e0b7 release --i-checked-the-provider --reason 'not in the ledger'", "it did not"],
  ],
  exits: "4 no such record, 5 it changed since, is at work, has its answer or its effect, 6 a probe does not answer.",
  async run({ flags, args, io, print, open }) {
    const [wanted, word] = args;
    const kind = kinds.find((each) => each === word);
    if (wanted === undefined || kind === undefined)
      throw new UsageError(
        `expected a key and one of ${kinds.join(", ")}, got ${args.length === 0 ? "nothing" : String(word)}`,
      );
    const decision = decisionFor(kind, flags);
    const project = await open();
    const { ichido, store } = project;
    const record = await oneRecord(project, wanted, flags);
    if (kind === "release") await askProvider(project, record, flags["i-checked-the-provider"] === true);
    const about = {
      id: project.nameOf(record.identity),
      operation: record.identity.operation,
      decision: kind,
      fence: record.fence,
    };
    if (flags["dry-run"] === true) {
      print.line("settled", { ...about, state: record.state, dryRun: true });
      print.text(
        `would ${kind} ${about.id} (${maskedKey(record.identity.key)}), now ${shownState(record)}. ${consequences[kind]}`,
      );
      return exitCodes.ok;
    }
    const fence = await seenFence(flags, record, about, io);
    const reason = await reasonOf(flags, io);
    const result = await settle(ichido ?? store, { record, fence, decision, actor: actorOf(flags, io.env), reason });
    if (result === "absent") throw notFound("the record has gone");
    if (result !== "ok") throw refused(`${about.id}: ${refusals[result]}`);
    print.line("settled", { ...about, dryRun: false });
    print.text(`${about.id}: ${consequences[kind]}`, "green");
    return exitCodes.ok;
  },
});
