/** `why`: from what a ticket contains to one verdict, with everything behind it. Reads and asks; changes nothing. */
import { knownOptions, type OptionNames } from "../core/contract/option-checks.ts";
import type { Store, StoredRecord } from "../core/contract/store.ts";
import { liveNotes } from "./engines-check.ts";
import { askRecord, gatherAll, unaskedOf, type Evidence, type Probes } from "./evidence.ts";
import { atOnceMax, inSlices } from "./in-slices.ts";
import { byReference, findRecords, recordName, recordsMax, type Found, type Question } from "./question.ts";
import { eventsOf, ofEvent, type EventParts } from "./event-verdict.ts";
import { sentenceOf, stepsToTake } from "./sentence.ts";
import { timelineOf, vanishedRuns, type TimelineEntry } from "./timeline.ts";
import { effectsOf, judge, verdicts, type EffectCount, type VerdictKind } from "./verdict.ts";

export interface WhyParts extends EventParts {
  readonly ichido: { readonly store: Store; readonly probes?: Probes; readonly suspectWithinMs?: number };
}

export interface KeyReport {
  /** `A`, `B`: as the timeline calls it. */
  readonly name: string;
  readonly key: string;
  /** With the key, what finds the record. */
  readonly scopeHash: Uint8Array;
  readonly operation: string;
  readonly state: StoredRecord["state"];
  readonly status?: number;
  readonly createdAtMs: number;
  readonly runs: number;
  /** Of those: runs whose owner vanished, and a later one took over. */
  readonly vanished: number;
  readonly replays: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly resources: readonly string[];
  readonly holdReason?: string;
  readonly effects: EffectCount;
  readonly providerIds: readonly string[];
}

/** Keys that stand for one intent, and what is to be said of it. */
export interface IntentReport {
  readonly verdict: VerdictKind;
  /** As `keys` names them, the first first. */
  readonly keys: readonly string[];
  /** The provider's ids of what it did beyond the first. Empty: nothing, or nobody names it. */
  readonly refund: readonly string[];
}

export interface Verdict {
  readonly v: 1;
  readonly verdict: VerdictKind;
  readonly severity: (typeof verdicts)[VerdictKind];
  /** One sentence for the ticket. */
  readonly says: string;
  /** `low`: something that would decide could not be asked. */
  readonly confidence: "high" | "low";
  readonly understood: readonly string[];
  readonly keys: readonly KeyReport[];
  /** The keys by intent, each with a verdict of its own: that of the whole is the worst. Absent: it is about an event. */
  readonly intents?: readonly IntentReport[];
  readonly timeline: readonly TimelineEntry[];
  /** What to do now. */
  readonly next: readonly string[];
  /** What could not be asked, or was left out. */
  readonly missing: readonly string[];
}

const questionNames: OptionNames<Question> = { text: true, amount: true, atMs: true, withinMs: true, sinceMs: true };

function nameOf(at: number): string {
  return at < 26 ? String.fromCharCode(65 + at) : `A${at}`;
}

/** The other keys of the same intent belong to the case, also where the question did not name them. */
async function withTwins(store: Store, found: readonly StoredRecord[], probes: Probes): Promise<Evidence[]> {
  const gathered = new Map<string, Evidence>();
  let left: readonly StoredRecord[] = found;
  while (left.length > 0 && gathered.size < recordsMax) {
    const asked = left.slice(0, recordsMax - gathered.size);
    const evidence = await gatherAll(store, asked, probes);
    for (const each of evidence) gathered.set(recordName(each.record), each);
    const names = evidence.flatMap(({ twins }) => twins.flatMap(({ first, second }) => [first, second]));
    const unseen = new Map(
      names.map((name) => {
        const identity = { ...name, tenant: undefined, principal: undefined };
        return [recordName({ identity }), identity] as const;
      }),
    );
    const missing = [...unseen].filter(([name]) => !gathered.has(name)).map(([, identity]) => identity);
    const others = await inSlices(missing, atOnceMax, (identity) => store.find(identity));
    left = others.filter((each) => each !== undefined);
  }
  return [...gathered.values()].toSorted((one, other) => one.record.createdAtMs - other.record.createdAtMs);
}

function reportOf(name: string, evidence: Evidence): KeyReport {
  const { record, attempts, resources, probes } = evidence;
  const { response, holdReason } = record;
  const count = (outcomes: readonly string[]): number =>
    attempts.filter(({ outcome }) => outcomes.includes(outcome)).reduce((sum, each) => sum + (each.count ?? 1), 0);
  return {
    name,
    key: record.identity.key,
    scopeHash: record.identity.scopeHash,
    operation: record.identity.operation,
    state: record.state,
    ...(response === undefined || record.state !== "completed" ? {} : { status: response.status }),
    createdAtMs: record.createdAtMs,
    runs: Math.max(count(["executed"]), record.attempts),
    vanished: vanishedRuns(attempts).length,
    replays: count(["replayed", "replayed_after_wait"]),
    labels: record.labels,
    resources: resources.map(({ kind, id }) => `${kind}:${id}`),
    ...(holdReason === undefined ? {} : { holdReason }),
    effects: effectsOf(evidence),
    providerIds: probes.flatMap(({ effects }) => effects.map(({ id }) => id)),
  };
}

/** The consumer of an event under a lease has a record of its own, and its key is the event's id. */
const isOfInbox = ({ record: { identity } }: Evidence): boolean => identity.operation.startsWith("inbox.");

/** Events that the records name, or that they were made for. */
async function eventsBehind(parts: WhyParts, evidence: readonly Evidence[]): Promise<readonly TimelineEntry[]> {
  const told = await inSlices(evidence, atOnceMax / 5, (each) => {
    const named = each.resources.flatMap(({ kind, id }) => (kind === "event" ? [id] : []));
    const own = isOfInbox(each) ? [each.record.identity.key] : [];
    return eventsOf(parts, nameOf(evidence.indexOf(each)), [...new Set([...own, ...named])]);
  });
  return told.flat();
}

/** One handler's record says nothing of the others: where one of them has it still open, that is the verdict. */
function joined(verdict: Verdict, event: Verdict | undefined): Verdict {
  if (event === undefined || verdict.severity !== "ok" || event.severity === "ok") return verdict;
  const { verdict: kind, severity, says, next } = event;
  return { ...verdict, verdict: kind, severity, says, next, understood: [...verdict.understood, ...event.understood] };
}

/** Ids that no record tells may belong to an effect whose record never learned of it: those in doubt are asked. */
async function byDoubt(parts: WhyParts, text: string, probes: Probes): Promise<Found> {
  const { store } = parts.ichido;
  // Without probes nobody knows a reference or a provider's id.
  if (Object.keys(probes).length === 0) return { records: [], understood: [], missing: [] };
  const found = await byReference(store, text, Object.keys(probes));
  if (found.records.length > 0) return found;
  const { records } = await store.list({ state: "unknown", limit: recordsMax });
  const asked = await Promise.all(records.map((record) => askRecord(store, record, probes)));
  const matching = records.filter((_, at) => asked[at]?.some(({ effects }) => effects.some(({ id }) => id === text)));
  return {
    records: matching,
    understood: matching.length > 0 ? ["provider's id"] : [],
    // The id may be that of an effect which the provider does not tell now.
    missing: matching.length > 0 ? [] : unaskedOf(asked.flat()),
  };
}

export async function why(parts: WhyParts, question: Question): Promise<Verdict> {
  knownOptions("why", question, questionNames);
  const { store, probes = {}, suspectWithinMs } = parts.ichido;
  const nowMs = (await store.inspect?.())?.nowMs ?? Date.now();
  let found = await findRecords(store, question, await liveNotes(store), nowMs, probes);
  if (found.records.length === 0 && question.text !== undefined) {
    const event = await ofEvent(parts, question.text);
    if (event !== undefined) return event;
    const doubted = await byDoubt(parts, question.text, probes);
    found = { ...doubted, missing: [...found.missing, ...doubted.missing] };
  }
  const evidence = await withTwins(store, found.records, probes);
  const { verdict: kind, intents: judged } = judge(evidence, suspectWithinMs);
  const keys = evidence.map((each, at) => reportOf(nameOf(at), each));
  const intents = judged.map(({ evidence: those, ...intent }): IntentReport => {
    return { ...intent, keys: those.map((each) => nameOf(evidence.indexOf(each))) };
  });
  const leftOut = [...new Set([...unaskedOf(evidence.flatMap(({ probes }) => probes)), ...found.missing])];
  const isConsumed = evidence.some(isOfInbox) && question.text !== undefined;
  const guessed = evidence.some((each) => effectsOf(each).by !== "provider");
  const verdict: Verdict = {
    v: 1,
    verdict: kind,
    severity: verdicts[kind],
    says: sentenceOf(kind, keys, intents),
    confidence: leftOut.length > 0 || kind === "not-known" || (guessed && kind !== "in-flight") ? "low" : "high",
    understood: found.understood,
    keys,
    intents,
    timeline: [
      ...evidence.flatMap((each, at) => timelineOf(nameOf(at), each)),
      ...(await eventsBehind(parts, evidence)),
    ].toSorted((one, other) => one.atMs - other.atMs),
    next: stepsToTake(intents),
    missing: [
      ...leftOut,
      ...(Object.keys(probes).length === 0 ? ["no probes are set: effects are counted by the records alone"] : []),
    ],
  };
  return isConsumed ? joined(verdict, await ofEvent(parts, question.text ?? "")) : verdict;
}
