/** `ichido why <anything>`: from what a ticket contains to one verdict. */
import { present } from "../../core/contract/present.ts";
import { why, type Question, type Verdict } from "../../operations/index.ts";
import { isRecordName } from "../../operations/masked-key.ts";
import { shownKey, type Looking } from "../../operations/told-record.ts";
import { hider, verdictJson, verdictMarkdown } from "../../operations/told-verdict.ts";
import { isUnaskedText } from "../../operations/evidence.ts";
import { defineCommand, jsonFlag, UsageError } from "../command.ts";
import { eventsOf } from "../console-parts.ts";
import { noteReveal, revealFlags } from "../decision.ts";
import { CommandError, exitCodes, type ExitCode } from "../exit-codes.ts";
import type { Printer } from "../printer.ts";
import { projectFlags, type Project } from "../project.ts";
import { recordsFor } from "../record-filter.ts";
import type { Style } from "../style.ts";
import { durationOf, momentOf, shownTime } from "../times.ts";

const styles: Readonly<Record<Verdict["severity"], Style>> = { ok: "green", warning: "yellow", page: "red" };

function printVerdict(print: Printer, verdict: Verdict, looking: Looking): void {
  const hide = hider(verdict.keys, looking);
  print.text(`${verdict.verdict}: ${hide(verdict.says)}`, styles[verdict.severity]);
  print.text(
    `confidence ${verdict.confidence}${verdict.understood.length > 0 ? `; asked by ${verdict.understood.join(", ")}` : ""}\n`,
  );
  print.rows("", verdict.keys, [
    { head: "KEY", cell: ({ name }) => name, whole: true },
    { head: "ID", cell: looking.nameOf, whole: true },
    {
      head: "",
      cell: ({ key }) => shownKey(key, looking),
      ...(looking.reveal ? { whole: true } : {}),
    },
    { head: "OPERATION", cell: ({ operation }) => operation },
    { head: "STATE", cell: ({ state, status }) => (status === undefined ? state : `${state} ${status}`), whole: true },
    { head: "RUNS", cell: ({ runs }) => runs, align: "right" },
    { head: "REPLAYS", cell: ({ replays }) => replays, align: "right" },
    { head: "EFFECTS", cell: ({ effects }) => `${effects.count} by ${effects.by}`, whole: true },
    { head: "IDS", cell: ({ providerIds, resources }) => hide([...providerIds, ...resources].join(" ")), loose: true },
  ]);
  if (verdict.timeline.length > 0) print.text("");
  print.rows("", verdict.timeline, [
    { head: "AT", cell: ({ atMs }) => shownTime(atMs), whole: true },
    { head: "KEY", cell: ({ key }) => key, whole: true },
    { head: "WHAT", cell: ({ text }) => hide(text), style: ({ kind }) => (kind === "effect" ? "bold" : undefined) },
  ]);
  for (const each of verdict.missing) print.text(`missing  ${hide(each)}`, "dim");
  for (const each of verdict.next) print.text(`next     ${hide(each)}`, "bold");
}

function questionOf(
  text: string | undefined,
  flags: { readonly [Name in "amount" | "at" | "within" | "since"]?: string },
): Question {
  const amount = flags.amount === undefined ? undefined : Number(flags.amount);
  if (amount !== undefined && !(amount >= 0))
    throw new UsageError(`--amount: expected a number, got ${JSON.stringify(flags.amount)}`);
  if (text === undefined && amount === undefined)
    throw new UsageError(
      "name what the ticket has: a key, a customer, an order, a charge, an event; or --amount and --at",
    );
  if (amount !== undefined && flags.at === undefined) throw new UsageError("--at: an amount needs a time");
  for (const name of ["at", "within"] as const) {
    if (amount === undefined && flags[name] !== undefined)
      throw new UsageError(`--${name}: it is the time of an --amount; --since leaves older records out`);
  }
  return present({
    text,
    amount,
    atMs: flags.at === undefined ? undefined : momentOf("--at", flags.at),
    withinMs: flags.within === undefined ? undefined : durationOf("--within", flags.within),
    sinceMs: flags.since === undefined ? undefined : Date.now() - durationOf("--since", flags.since),
  });
}

/** A short name, as tables have it, stands for its key; one that is no record's may be anything else. */
async function keyOf(project: Pick<Project, "store" | "nameOf">, name: string): Promise<string> {
  try {
    const [record] = await recordsFor(project, name, {});
    return record?.identity.key ?? name;
  } catch (error) {
    if (error instanceof CommandError && error.code === "notFound") return name;
    throw error;
  }
}

function codeOf({ verdict, severity, confidence, keys, missing }: Verdict): ExitCode {
  // Nothing was found, and somebody who may know more could not be asked.
  if (verdict === "nothing-found") return missing.some(isUnaskedText) ? exitCodes.unreachable : exitCodes.notFound;
  const isUnasked = keys.some(({ effects }) => effects.problem !== undefined);
  if (isUnasked && (verdict === "not-known" || confidence === "low")) return exitCodes.unreachable;
  return severity === "ok" ? exitCodes.ok : exitCodes.finding;
}

export const whyCommand = defineCommand({
  name: "why",
  summary: "was this customer charged twice? one verdict, with its evidence",
  args: "[anything]",
  argsMax: 1,
  about: `
Takes what a ticket contains (a key, customer=42, an order, a provider's id, an event's id) and tells what happened: once,
twice, not at all, or not known, with requests, steps, replays, the provider's effects and what people did. Providers are
asked by the engine's probes. Reads and asks; changes nothing.`,
  flags: {
    amount: { type: "string", value: "n", says: "what was charged, as requests or answers have it; needs --at" },
    at: { type: "string", value: "time", says: "about when: 14:05 (today, UTC) or 2026-11-18T14:05Z" },
    within: { type: "string", value: "time", says: "how far around --at; default 10m" },
    since: { type: "string", value: "time", says: "leave older records out: 1h, 7d" },
    "no-probe": { type: "boolean", says: "does not ask providers" },
    md: { type: "boolean", says: "text for a ticket" },
    ...revealFlags,
    ...jsonFlag,
    ...projectFlags,
  },
  examples: [
    ["ichido why customer=42 --since 1h", "a customer who complains"],
    ["ichido why ch_8812 --md > ticket.md", "a charge of the provider"],
    ["ichido why --amount 42.00 --at 14:05", "when that is all that is known"],
  ],
  exits: "0 one effect or none, 3 more or an open outcome, 4 nothing is known, 6 the provider could not be asked.",
  async run({ flags, args: [text], io, print, open }) {
    const asked = questionOf(text, flags);
    const project = await open();
    const { ichido, store, nameOf } = project;
    const question = text !== undefined && isRecordName(text) ? { ...asked, text: await keyOf(project, text) } : asked;
    const probes = flags["no-probe"] === true ? undefined : ichido?.probes;
    const asks = present({ probes, suspectWithinMs: ichido?.suspectWithinMs });
    const verdict = await why({ ichido: { store, ...asks }, ...(await eventsOf(project)) }, question);
    await noteReveal(store, flags, io, undefined);
    const looking = { reveal: flags.reveal === true, nameOf };
    if (flags.md === true && !print.json) print.text(verdictMarkdown(verdict, looking));
    else if (!print.json) printVerdict(print, verdict, looking);
    print.line("verdict", verdictJson(verdict, looking));
    return codeOf(verdict);
  },
});
