/** `ichido doctor`: what is wrong with a set-up, and what to do about it. */
import { present } from "../../core/contract/present.ts";
import { diagnose, findings, type Finding } from "../../operations/index.ts";
import { defineCommand, jsonFlag, UsageError } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { projectFlags } from "../project.ts";

function chosenCodes(text: string | undefined): readonly string[] | undefined {
  const codes = text?.split(",");
  const wrong = codes?.find((code) => !Object.hasOwn(findings, code));
  if (wrong === undefined) return codes;
  throw new UsageError(`--only: expected codes of findings, such as schema-missing, got ${JSON.stringify(wrong)}`);
}

const unreachableCodes = ["store-unreachable"];
/** Where nothing could be seen, nothing is right, whatever was asked for. */
const unseenCodes: readonly string[] = [...unreachableCodes, "store-refuses", "rights-missing", "settings-unseen"];

export const doctorCommand = defineCommand({
  name: "doctor",
  summary: "tell what is wrong with the set-up, and what to do",
  about: `
Looks at versions, tables, rights, settings of the server, clocks, options of running engines and what they measured. Reads
and asks; changes nothing. Each finding names its remedy. With a configuration it sees more than with --store.`,
  flags: {
    only: { type: "string", value: "codes", says: "these findings alone: schema-missing,eviction" },
    "fail-on": { type: "string", value: "severity", says: "error: warnings do not count; default warning" },
    ...jsonFlag,
    ...projectFlags,
  },
  examples: [
    ["ichido doctor", "after the first installation, and in every deploy"],
    ["ichido doctor --fail-on error --json", "in CI"],
  ],
  exits: "0 all that was looked at is right, 3 something was found, 6 the store does not answer.",
  async run({ flags, print, open }) {
    const only = chosenCodes(flags.only);
    const failOn = flags["fail-on"] ?? "warning";
    if (failOn !== "warning" && failOn !== "error")
      throw new UsageError(`--fail-on: expected warning or error, got ${JSON.stringify(failOn)}`);
    const { store, outbox, inbox, ichido, subscriptions, clientTimeoutMs, preflights } = await open();
    // An address does not tell which events the program has.
    const events = ichido === undefined ? {} : present({ outbox, inbox });
    const found = (
      await diagnose({ ichido: { store }, ...events, ...present({ subscriptions, clientTimeoutMs, preflights }) })
    ).filter(({ code }) => only === undefined || only.includes(code) || unseenCodes.includes(code));
    for (const finding of found) {
      print.line("finding", finding);
      print.text(`${finding.severity} ${finding.code}`, finding.severity === "error" ? "red" : "yellow");
      print.text(`  ${finding.what}\n  → ${finding.remedy}\n`);
    }
    const counted = found.filter(({ severity }: Finding) => failOn === "warning" || severity === "error");
    print.line("summary", { findings: found.length, counted: counted.length, ok: counted.length === 0 });
    if (found.length === 0) print.text("all that was looked at is right", "green");
    if (found.some(({ code }) => unreachableCodes.includes(code))) return exitCodes.unreachable;
    return counted.length === 0 ? exitCodes.ok : exitCodes.finding;
  },
});
