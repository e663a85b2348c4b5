/** A verdict as JSON and as a text for a ticket, without any key in clear unless keys are to be revealed. */
import { withoutKey } from "./masked-key.ts";
import { iso, shownKey, type Looking } from "./told-record.ts";
import type { KeyReport, Verdict } from "./why.ts";

/** Reasons, errors and callers' texts may quote a key of the case. */
export function hider(
  keys: readonly Pick<KeyReport, "key">[],
  { reveal }: Pick<Looking, "reveal">,
): (text: string) => string {
  if (reveal) return (text) => text;
  return (text) => keys.reduce((hidden, { key }) => withoutKey(hidden, key), text);
}

export function verdictJson(verdict: Verdict, looking: Looking) {
  const hide = hider(verdict.keys, looking);
  return {
    ...verdict,
    says: hide(verdict.says),
    keys: verdict.keys.map(({ key, scopeHash, createdAtMs, holdReason, effects, ...report }) => ({
      ...report,
      effects: effects.problem === undefined ? effects : { ...effects, problem: hide(effects.problem) },
      id: looking.nameOf({ key, scopeHash }),
      key: shownKey(key, looking),
      createdAt: iso(createdAtMs),
      holdReason: holdReason === undefined ? undefined : hide(holdReason),
    })),
    timeline: verdict.timeline.map(({ atMs, text, ...entry }) => ({ at: iso(atMs), ...entry, text: hide(text) })),
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
