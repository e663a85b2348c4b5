/** A verdict as JSON and as a text for a ticket, without any key in clear unless keys are to be revealed. */
import { maskedKey } from "./masked-key.ts";
import { iso, shownKey, type Looking } from "./told-record.ts";
import type { KeyReport, Verdict } from "./why.ts";

/** Reasons, errors and callers' texts may quote a key of the case. */
export function hider(
  keys: readonly Pick<KeyReport, "key">[],
  { reveal }: Pick<Looking, "reveal">,
  show: (key: string) => string = maskedKey,
): (text: string) => string {
  if (reveal || keys.length === 0) return (text) => text;
  // The longest first: of a key within another the rest would stay. In one pass: what is shown is not looked at again.
  const inOrder = keys.map(({ key }) => key).toSorted((one, other) => other.length - one.length);
  const any = new RegExp(inOrder.map((key) => key.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")).join("|"), "g");
  return (text) => text.replace(any, (key) => show(key));
}

export function verdictJson(verdict: Verdict, looking: Looking) {
  const hide = hider(verdict.keys, looking);
  return {
    ...verdict,
    says: hide(verdict.says),
    keys: verdict.keys.map(({ key, scopeHash, createdAtMs, holdReason, effects, ...report }) => ({
      ...report,
      labels: Object.fromEntries(Object.entries(report.labels).map(([name, value]) => [name, hide(value)])),
      resources: report.resources.map(hide),
      providerIds: report.providerIds.map(hide),
      effects: effects.problem === undefined ? effects : { ...effects, problem: hide(effects.problem) },
      id: looking.nameOf({ key, scopeHash }),
      key: shownKey(key, looking),
      createdAt: iso(createdAtMs),
      holdReason: holdReason === undefined ? undefined : hide(holdReason),
    })),
    timeline: verdict.timeline.map(({ atMs, text, facts, ...entry }) => ({
      at: iso(atMs),
      ...entry,
      text: hide(text),
      ...(facts && { facts: { ...facts, ...(facts.effect !== undefined && { effect: hide(facts.effect) }) } }),
    })),
    next: verdict.next.map(hide),
    missing: verdict.missing.map(hide),
  };
}

const secondOf = (ms: number): string => iso(ms).replace(/\.\d+Z$/, "Z");

/** Reasons, errors and ids are texts of others: in a ticket they stay texts, on one line. In words `_` means nothing. */
function plain(text: string): string {
  return text.replace(/\s+/g, " ").replace(/[\\`*[\]<>!|#]/g, (sign) => `\\${sign}`);
}

export function verdictMarkdown(verdict: Verdict, looking: Pick<Looking, "reveal">): string {
  const hidden = hider(verdict.keys, looking);
  const hide = (text: string): string => plain(hidden(text));
  return [
    `**${verdict.verdict}**: ${hide(verdict.says)} (confidence ${verdict.confidence})`,
    "",
    "| At | Key | What |",
    "|---|---|---|",
    ...verdict.timeline.map(({ atMs, key, text }) => `| ${secondOf(atMs)} | ${key} | ${hide(text)} |`),
    "",
    ...verdict.missing.map((each) => `- missing: ${hide(each)}`),
    ...verdict.next.map((each) => `- next: ${hide(each)}`),
  ].join("\n");
}
