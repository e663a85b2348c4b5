/** Verdicts in words, for tickets and terminals. No key is written out: keys are called A, B, C. */
import { maskedKey } from "./masked-key.ts";
import { hider } from "./told-verdict.ts";
import type { IntentReport, KeyReport, Verdict } from "./why.ts";
import { harmsOf, isAbout, isOpen, type VerdictKind } from "./verdict.ts";

function clock(ms: number): string {
  return new Date(ms).toISOString().slice(11, 19);
}

function ids(keys: readonly KeyReport[]): string {
  const all = keys.flatMap(({ providerIds }) => providerIds);
  return all.length === 0 ? "" : ` (${all.join(", ")})`;
}

function onceText(keys: readonly KeyReport[]): string {
  const replays = keys.reduce((sum, { replays: each }) => sum + each, 0);
  const runs = Math.max(...keys.map(({ runs: each }) => each));
  const again =
    replays === 0
      ? ""
      : replays === 1
        ? "; the second request was answered from the record"
        : `; ${replays} further requests were answered from the record`;
  const vanished = keys.reduce((sum, { vanished: each }) => sum + each, 0);
  // A run that failed and was given back did not vanish: the next one had nothing to find out.
  const earlier =
    vanished > 0
      ? `; ${vanished} earlier attempt(s) vanished, and a later one found out what had happened`
      : runs > 1
        ? `; after ${runs} attempts`
        : "";
  return `charged once${ids(keys)}${again}${earlier}`;
}

function apart(keys: readonly KeyReport[]): string {
  const charged = keys.filter(({ effects }) => effects.count > 0);
  const times = charged.map(({ createdAtMs }) => createdAtMs);
  return `${((Math.max(...times) - Math.min(...times)) / 1_000).toFixed(1)} s apart`;
}

function unknownSince(open: KeyReport | undefined): string {
  return `outcome unknown since ${clock(open?.createdAtMs ?? 0)}`;
}

function unknownText(open: KeyReport | undefined): string {
  const { nothingFound, problem } = open?.effects ?? {};
  if (nothingFound === true) return `${unknownSince(open)}, provider says: nothing under its reference`;
  return `${unknownSince(open)}, and the provider cannot be asked${problem === undefined ? "" : ` (${problem})`}`;
}

export function sentenceOf(
  kind: VerdictKind,
  all: readonly KeyReport[],
  intents: readonly Pick<IntentReport, "verdict" | "keys">[],
): string {
  const groups = intents
    .filter((intent) => isAbout(kind, intent))
    .map(({ keys: names }) => all.filter(({ name }) => names.includes(name)));
  // An honest purchase of the same customer has no part in what is said of another.
  const keys = groups.flat();
  switch (kind) {
    case "one-effect":
      return onceText(keys);
    case "two-intents":
      return `${groups.length} purchases, each under a key of its own and charged once${ids(keys)}: of other content, or long apart`;
    case "no-effect":
      return "not charged: it was refused or given back, and the provider did nothing";
    case "in-flight":
      return "still running: ask again in a moment";
    case "two-keys-one-intent":
      return `two keys for one intent, ${groups.map(apart).join(" and ")}: the same content was charged under each${ids(keys)}; the client made a second key`;
    case "orphan-effect":
      return `the provider did it${ids(keys)}, and the record does not say so: ${unknownSince(keys.find(({ state }) => state !== "completed"))}`;
    case "phantom":
      return "the record says that it was done, and the provider does not know of it";
    case "not-known":
      return unknownText(keys.find(({ state, effects }) => isOpen(state, effects)));
    case "two-effects-one-key":
      return `charged twice under one key and one reference${ids(keys)}: the provider ignored the reference`;
    case "nothing-found":
      return "nothing is known by this name, or it is past its retention";
    case "event-once":
    case "event-dead":
    case "event-parked":
    case "event-replaying":
    case "event-pending":
    case "event-discarded":
    case "event-sent":
      return "";
  }
}

function refundsOf(kind: VerdictKind, intents: readonly IntentReport[]): readonly string[] {
  return intents
    .filter((intent) => isAbout(kind, intent))
    .map(({ keys, refund }) =>
      refund.length > 0 ? `refund ${refund.join(", ")}` : `refund what was charged too often under ${keys.join(", ")}`,
    );
}

function stepsFor(kind: VerdictKind, intents: readonly IntentReport[]): readonly string[] {
  switch (kind) {
    case "two-keys-one-intent":
      return [
        ...refundsOf(kind, intents),
        "let the client keep its key from the click on: see the guide of the client",
      ];
    case "two-effects-one-key":
      return [
        ...refundsOf(kind, intents),
        'set onUnknown of this step to "hold": its provider does not honour references',
      ];
    case "orphan-effect":
      return ["npx ichido keys settle <key> adopt, with the provider's answer"];
    case "not-known":
      return ["ask the provider by hand, then npx ichido keys settle <key> adopt or release"];
    case "phantom":
      return ["look for a reversal or a lost capture at the provider"];
    default:
      return [];
  }
}

/** Of every intent, also where a worse one is the verdict. */
export function stepsToTake(intents: readonly IntentReport[]): readonly string[] {
  return harmsOf(intents).flatMap((kind) => stepsFor(kind, intents));
}

/** For a terminal or a ticket. `show`: how a key is written, also where a text quotes it; default: in part. */
export function verdictText(verdict: Verdict, show: (key: string) => string = maskedKey): string {
  const { says, confidence, keys, timeline, next, missing, understood } = verdict;
  const hide = hider(keys, { reveal: false }, show);
  const lines = [`VERDICT  ${verdict.verdict}: ${hide(says)}   confidence: ${confidence}`];
  if (understood.length > 0) lines.push(`asked by ${understood.join(", ")}`);
  for (const { name, key, operation, state, status, runs, replays, effects } of keys) {
    const answer = status === undefined ? state : `${state} ${status}`;
    lines.push(
      `  key ${name}  ${show(key)}  ${operation}  ${answer}  runs ${runs}, replays ${replays}, effects ${effects.count} by ${effects.by}`,
    );
  }
  for (const { atMs, key, text } of timeline) lines.push(`  ${new Date(atMs).toISOString()}  ${key}  ${hide(text)}`);
  for (const each of missing) lines.push(`  missing  ${hide(each)}`);
  for (const each of next) lines.push(`  next     ${hide(each)}`);
  return lines.join("\n");
}
