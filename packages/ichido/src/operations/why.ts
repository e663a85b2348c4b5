/** `why`: from what a ticket contains to one verdict, with everything behind it. Reads and asks; changes nothing. */
import { knownOptions, type OptionNames } from "../core/contract/option-checks.ts";
import type { Store, StoredRecord } from "../core/contract/store.ts";
import type { Inbox } from "../inbox/inbox.ts";
import { liveNotes } from "./engines-check.ts";
import { gather, type Evidence, type Probes } from "./evidence.ts";
import { byReference, findRecords, recordName, recordsMax, type Found, type Question } from "./question.ts";
import { sentenceOf, stepsToTake } from "./sentence.ts";
import { timelineOf, type TimelineEntry } from "./timeline.ts";
import { effectsOf, judge, verdicts, type EffectCount, type VerdictKind } from "./verdict.ts";

export interface WhyParts {
  readonly ichido: { readonly store: Store; readonly probes?: Probes };
  readonly inbox?: Pick<Inbox<never>, "find">;
}

export interface KeyReport {
  /** `A`, `B`: as the timeline calls it. */
  readonly name: string;
  readonly key: string;
  readonly operation: string;
  readonly state: StoredRecord["state"];
  readonly status?: number;
  readonly createdAtMs: number;
  readonly runs: number;
  readonly replays: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly resources: readonly string[];
  readonly holdReason?: string;
  readonly effects: EffectCount;
  readonly providerIds: readonly string[];
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
    const evidence = await Promise.all(
      left.slice(0, recordsMax - gathered.size).map((record) => gather(store, record, probes)),
    );
    for (const each of evidence) gathered.set(recordName(each.record), each);
    const names = evidence.flatMap(({ twins }) => twins.flatMap(({ first, second }) => [first, second]));
    const unseen = new Map(
      names.map((name) => {
        const identity = { ...name, tenant: undefined, principal: undefined };
        return [recordName({ identity }), identity] as const;
      }),
    );
    const missing = [...unseen].filter(([name]) => !gathered.has(name)).map(([, identity]) => identity);
    left = (await Promise.all(missing.map((identity) => store.find(identity)))).filter((each) => each !== undefined);
  }
  return [...gathered.values()].toSorted((one, other) => one.record.createdAtMs - other.record.createdAtMs);
}

function reportOf(name: string, evidence: Evidence): KeyReport {
  const { record, attempts, resources, probes } = evidence;
  const { response, holdReason } = record;
  const count = (outcomes: readonly string[]): number =>
    attempts.filter(({ outcome }) => outcomes.includes(outcome)).length;
  return {
    name,
    key: record.identity.key,
    operation: record.identity.operation,
    state: record.state,
    ...(response === undefined || record.state !== "completed" ? {} : { status: response.status }),
    createdAtMs: record.createdAtMs,
    runs: Math.max(count(["executed"]), record.attempts),
    replays: count(["replayed", "replayed_after_wait"]),
    labels: record.labels,
    resources: resources.map(({ kind, id }) => `${kind}:${id}`),
    ...(holdReason === undefined ? {} : { holdReason }),
    effects: effectsOf(evidence),
    providerIds: probes.flatMap(({ effects }) => effects.map(({ id }) => id)),
  };
}

/** An event is known by the inbox alone: the relay forgets what it has sent. */
async function ofEvent({ inbox }: WhyParts, id: string): Promise<Verdict | undefined> {
  const entries = (await inbox?.find(id)) ?? [];
  if (entries.length === 0) return undefined;
  const isDead = entries.some(({ outcome }) => outcome === "dead");
  const kind = isDead ? "event-dead" : "event-once";
  const handlers = entries.map(({ handler }) => handler).join(", ");
  const says = isDead
    ? `the event was given up by ${entries
        .filter(({ outcome }) => outcome === "dead")
        .map(({ handler }) => handler)
        .join(", ")} and waits for a person`
    : `the event took effect once for each of its handlers (${handlers}), however often it was delivered`;
  return {
    v: 1,
    verdict: kind,
    severity: verdicts[kind],
    says,
    confidence: "high",
    understood: ["event"],
    keys: [],
    timeline: entries.map(({ handler, outcome, atMs }) => ({
      atMs,
      kind: "event",
      key: "",
      text: `${handler}: ${outcome}`,
    })),
    next: isDead ? ["npx ichido inbox show, then replay or discard it"] : [],
    missing: [],
  };
}

/** Ids that no record tells may belong to an effect whose record never learned of it: those in doubt are asked. */
async function byDoubt(parts: WhyParts, text: string, probes: Probes): Promise<Found> {
  const { store } = parts.ichido;
  // Without probes nobody knows a reference or a provider's id.
  if (Object.keys(probes).length === 0) return { records: [], understood: [], isCut: false };
  const found = await byReference(store, text, Object.keys(probes));
  if (found.records.length > 0) return found;
  const { records } = await store.list({ state: "unknown", limit: recordsMax });
  const asked = await Promise.all(records.map((record) => gather(store, record, probes)));
  const matching = asked.filter((each) => each.probes.some(({ effects }) => effects.some(({ id }) => id === text)));
  return {
    records: matching.map(({ record }) => record),
    understood: matching.length > 0 ? ["provider's id"] : [],
    isCut: false,
  };
}

export async function why(parts: WhyParts, question: Question): Promise<Verdict> {
  knownOptions("why", question, questionNames);
  const { store, probes = {} } = parts.ichido;
  const nowMs = (await store.inspect?.())?.nowMs ?? Date.now();
  let found = await findRecords(store, question, await liveNotes(store), nowMs);
  if (found.records.length === 0 && question.text !== undefined) {
    const event = await ofEvent(parts, question.text);
    if (event !== undefined) return event;
    found = await byDoubt(parts, question.text, probes);
  }
  const evidence = await withTwins(store, found.records, probes);
  const kind = judge(evidence);
  const keys = evidence.map((each, at) => reportOf(nameOf(at), each));
  const unasked = evidence.flatMap((each) =>
    each.probes.flatMap(({ step, problem }) => (problem === undefined ? [] : [`${step}: ${problem}`])),
  );
  const guessed = evidence.some((each) => effectsOf(each).by !== "provider");
  return {
    v: 1,
    verdict: kind,
    severity: verdicts[kind],
    says: sentenceOf(kind, keys),
    confidence:
      unasked.length > 0 || found.isCut || kind === "not-known" || (guessed && kind !== "in-flight") ? "low" : "high",
    understood: found.understood,
    keys,
    timeline: evidence
      .flatMap((each, at) => timelineOf(nameOf(at), each))
      .toSorted((one, other) => one.atMs - other.atMs),
    next: stepsToTake(kind, keys),
    missing: [
      ...new Set(unasked.map((each) => `the provider could not be asked: ${each}`)),
      ...(found.isCut ? [`only the newest ${recordsMax} records were looked at`] : []),
      ...(Object.keys(probes).length === 0 ? ["no probes are set: effects are counted by the records alone"] : []),
    ],
  };
}
